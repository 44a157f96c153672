package check

// historyIssues are about what snapshots did to the deletes of their parents.
func historyIssues() []Issue {
	return []Issue{
		{"delete-dropped", Metadata, Wrong, Fix, "a snapshot dropped a delete file although it still deleted rows of a live data file",
			"the rows are back: delete them again, or roll back to the parent of the snapshot that dropped the delete file; and look into its writer", nobody()},
		{"dv-resurrected", Metadata, Wrong, Ask, "a deletion vector that an ancestor removed is live again in its old entry",
			"find out which snapshot lists it again: rows that it deletes may have been restored on purpose", nobody()},
	}
}
