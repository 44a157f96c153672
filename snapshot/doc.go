// Package snapshot knows one state of an Iceberg table: which data files, position delete files and deletion vectors
// are live at the head of a branch, and how the next snapshot is written.
//
// The reading side streams manifests and keeps only what maintenance of deletes needs. Three rules of the table
// specification decide what it keeps:
//
//   - Live means an entry with status ADDED or EXISTING in the head snapshot (spec, "Manifest Entry Fields"). DELETED
//     entries are never read as deletes.
//   - A deletion vector is identified by (path, content_offset, content_size_in_bytes) and belongs to its
//     referenced_data_file, never to its Puffin path: one Puffin file holds many.
//   - Nothing is pruned by column bounds, partition summaries or snapshot summaries. Each of them is written wrongly by
//     some engine, and trusting one would lose deletes.
//
// The writing side ([Producer]) replaces delete entries by others and never touches a data manifest, so that row
// lineage and everything else about data files stays as it is.
package snapshot
