// Package check finds damaged deletes of a table. It reads and never writes, and it reads with leniency: what cannot be
// read is a finding, and the rest of the table is checked all the same.
//
// How deep it looks is its [Level]. Metadata alone shows what manifests contradict; footers of Puffin files, their sizes
// and those of position delete files show more; deletion vectors and the records of position delete files show the rest.
// [Issues] says which fault is seen at which level, what it does to readers and whether it can be mended.
//
// A store that fails is no damage: it is an error, because what could not be read was not checked.
package check
