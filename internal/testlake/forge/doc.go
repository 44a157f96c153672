// Package forge makes tables entry by entry, right or wrong, in memory: their manifests are written with iceberg-go's
// manifest writers, never with the program's own. A table of a forge needs no data files: compact and migrate do not open
// any, and a row is a data file's path and a position.
//
// What a writer of a healthy table would not do is an explicit wish of a [Change]: sequence numbers, entries that stay
// although they are deleted, another schema, other records of the manifest list, other bytes of a manifest.
package forge
