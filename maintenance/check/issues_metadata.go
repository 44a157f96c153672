package check

const (
	// In hints TABLE stands for the name of the table, and FILE is the configuration file.
	hintCompact = "dvcompactor compact -c FILE TABLE drops it"
	hintMigrate = "dvcompactor migrate -c FILE TABLE merges what applies and drops the rest; a table of format version 2 needs --upgrade-format"
	hintWriter  = "keep this table away from maintenance until it is mended, and look into the writer"
)

// setIssues are about what is live together.
func setIssues() []Issue {
	return []Issue{
		{"dv-duplicate", Metadata, Unreadable, Fix, "two or more live deletion vectors for one data file", hintWriter, engines([]string{java, duckdb, rust}, nil, []string{pyiceberg})},
		{"dv-listed-twice", Metadata, Unreadable, Safe, "one deletion vector in two live entries", hintWriter, engines([]string{java, duckdb, rust}, nil, []string{pyiceberg})},
		{"dv-dangling", Metadata, Waste, Safe, "a deletion vector whose data file is not live", hintCompact, nobody()},
		{"delete-aged", Metadata, Waste, Safe, "a delete file that can apply to no live data file", hintMigrate, nobody()},
		{"data-file-twice", Metadata, Wrong, None, "a data file that is live in two entries", "its rows are read twice: remove one of the entries with the engine that wrote them", nobody()},
		{"file-fully-deleted", Metadata, Waste, None, "a data file all of whose rows are deleted", "a delete whose condition covers the whole file lets the engine drop it", nobody()},
		{"summary-drift", Metadata, Waste, Safe, "totals of the snapshot summary that are wrong", "planners and dashboards may be misled, no reader is", nobody()},
		{"path-near-miss", Metadata, Wrong, None, "a delete that names a path that only almost is that of a live data file",
			"find out whether both paths are one object; the delete is kept, and deletes nothing", nobody()},
		{"delete-after-upgrade", Metadata, Wrong, Fix, "a position delete file that was added in format version 3", hintMigrate, nobody()},
		{"puffin-orphan", Footers, Waste, None, "a Puffin file that no snapshot references", "remove it with the engine's procedure for orphan files", nobody()},
	}
}

// entryIssues are about manifests and what one entry says.
func entryIssues() []Issue {
	return []Issue{
		{"manifest-unreadable", Metadata, Unreadable, None, "a manifest or manifest list that is missing or cannot be read",
			"restore the object from a backup or version of the store; what it lists was not checked", engines([]string{java, pyiceberg, duckdb, golang, rust}, nil, nil)},
		{"manifest-content", Metadata, Unreadable, Safe, "a manifest whose header says another content than the manifest list", hintWriter, engines([]string{golang}, nil, nil)},
		{"manifest-summary", Metadata, Wrong, Fix, "counts, sequence number or partition bounds in the manifest list that exclude what the manifest holds", hintWriter, engines(nil, []string{java}, nil)},
		{"dv-partition", Metadata, Unreadable, Fix, "a deletion vector of another spec or partition than its data file", hintWriter, engines([]string{java, rust}, nil, []string{pyiceberg, duckdb})},
		{"dv-sequence", Metadata, Unreadable, Fix, "a deletion vector that is older than its data file", hintWriter, engines([]string{java}, nil, nil)},
		{"dv-fields-missing", Metadata, Wrong, Fix, "a deletion vector whose entry lacks referenced_data_file, content_offset or content_size_in_bytes", hintWriter,
			engines([]string{duckdb, rust}, []string{java}, []string{pyiceberg})},
		{"dv-in-v2", Metadata, Unreadable, Ask, "a deletion vector in a table of format version 2 or below", "upgrading the table to version 3 makes it valid", nobody()},
		{"dv-empty", Metadata, Waste, Safe, "a deletion vector without positions", "dvcompactor check --read-dvs -c FILE TABLE tells whether it hides position deletes", nobody()},
		{"entry-extras", Metadata, Risk, Safe, "a delete entry with a sort order or a first row id", hintWriter, nobody()},
		{"delete-partition", Metadata, Wrong, Fix, "a position delete file of another spec or partition than the data file that it names", hintWriter,
			engines([]string{java}, nil, []string{pyiceberg, duckdb})},
		{"delete-bounds", Metadata, Wrong, Fix, "column bounds of file_path that exclude paths in a position delete file", hintMigrate, engines(nil, []string{java, pyiceberg, rust}, []string{duckdb})},
	}
}
