// Package verify compares a snapshot that a run committed with the one it replaced, both read back from the catalog and
// from storage: the metadata, the two manifest lists, the manifests that came and went, and the ends of the new Puffin
// files. Nothing is taken from the memory of the code that wrote them but what the run meant to do.
//
// The invariants, by the names that results and errors use:
//
//	A1 data files        the data manifests are the same, and with them every live data file
//	A2 positions         each new deletion vector is the range that was proved before the commit, and each data file that
//	                     lost one has another
//	A3 equality deletes  the same files with the same sequence numbers
//	A4 live rows         a deletion vector that moved has as many positions as before
//	B1 one vector        no data file has a second deletion vector
//	B2 binding           spec, partition and sequence number of a new deletion vector fit its data file, and what the entry of a
//	                     new position delete file says is what was proved of it
//	B3 Puffin footers    name the same ranges, data files and cardinalities as the manifests
//	B7 coverage          each live data file that a removed position delete file has records of has a deletion vector, or a
//	                     new position delete file with them
//	B8 kinds             only deletion vectors are added, in format version 3, and position delete files before it
//	B9 entries           exactly the entries that were meant are added and removed; all others are as they were, field by field
//	B10 new files        are there with the size that the manifests say
//	B11 co-lifetime      no live deletion vector is in a Puffin file with a retired one
//	C1 operation         replace
//	C2 data              the summary says that no data file or row was added or removed
//	C3 history           parent, sequence number and timestamp
//	C4 row lineage       first-row-id, added-rows, and the table's next-row-id
//	C5 manifest list     other manifests are listed as they were; data manifests keep their first_row_id
//	C6 new manifests     header, length, counts, min_sequence_number and partition summaries are those of their entries
//	C7 entry status      snapshot ids and sequence numbers of added, existing and deleted entries
//	C8 summary           counts and totals are those of the difference of the manifests
//	C9 metadata          everything else in the table metadata is as it was
//	C10 parent           is still in the table, and its manifest list can be read
//
// B4 and B6, the bytes and positions of the new deletion vectors, are proved before the commit. B5, no position beyond the
// rows of the data file, is not a matter of a run, which neither adds positions nor drops any. C11, nothing is physically
// deleted, and C12, a second run changes nothing, are properties of the program that its tests show.
package verify
