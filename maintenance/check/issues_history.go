package check

// historyIssues are about what snapshots did to the deletes of their parents.
func historyIssues() []Issue {
	return []Issue{
		{"delete-dropped", Metadata, Wrong, Fix, "a snapshot dropped a delete file although it still deleted rows of a live data file",
			"the rows are back: look into the writer of the snapshot", engines(nil, []string{java, duckdb, rust}, nil)},
		{"delete-lost-in-rewrite", Vectors, Wrong, Fix, "a snapshot replaced delete files by others that lack positions of live data files",
			"the rows are back: look into the writer of the snapshot", nobody()},
		{"rows-resurrected", Metadata, Wrong, None, "a snapshot of operation replace changed how many rows are live",
			"dvcompactor check --read-dvs -c FILE TABLE tells which positions a rewrite of delete files lost; for the rest compare the table with its state at the parent of the snapshot", nobody()},
		{"lineage-damage", Metadata, Risk, None, "row ids that are missing, given twice or changed",
			"row ids may have been read already: keep readers of row lineage from relying on them, and look into the writer", nobody()},
		{colifetime, Metadata, Risk, Safe, "a live deletion vector in a Puffin file with one that a listed snapshot had and the table has no more",
			"expire snapshots with a procedure that compares which files are still reachable, as that of Spark does", nobody()},
		{"dv-resurrected", Metadata, Wrong, Ask, "a deletion vector that an ancestor removed is live again in its old entry",
			"find out which snapshot lists it again: rows that it deletes may have been restored on purpose", nobody()},
	}
}
