package check

const hintReread = "restore the object from a backup or version of the store, or delete the rows again"

// fileIssues are about objects and the footers of Puffin files.
func fileIssues() []Issue {
	return []Issue{
		{"file-size", Footers, Risk, Safe, "file_size_in_bytes differs from the size of the object", hintWriter, nobody()},
		{"dv-missing", Footers, Unreadable, Ask, "the Puffin file of a deletion vector is gone", hintReread, engines([]string{java, pyiceberg, duckdb, golang, rust}, nil, nil)},
		{"delete-unreadable", Footers, Unreadable, Ask, "a position delete file that is missing or cannot be decoded", hintReread,
			engines([]string{java, pyiceberg, duckdb, golang, rust}, nil, nil)},
		{"dv-bare-blob", Footers, Unreadable, Safe, "a deletion vector without a Puffin file around it, or with a footer that cannot be read", hintWriter,
			engines([]string{pyiceberg, duckdb, golang}, nil, []string{java, rust})},
		{"dv-range", Footers, Unreadable, Fix, "offset and size of a deletion vector differ from the footer's", hintWriter, engines([]string{java, duckdb, golang, rust}, nil, []string{pyiceberg})},
		{"dv-misbound", Footers, Wrong, Fix, "a deletion vector whose bytes are those of another data file", hintWriter, engines([]string{golang}, []string{java, duckdb, rust}, nil)},
		{"dv-reference-stale", Footers, Wrong, Safe, "the footer names another path than the manifest for the same data file", hintWriter,
			engines([]string{golang}, []string{pyiceberg}, []string{java, duckdb, rust})},
		{"puffin-blob-metadata", Footers, Risk, Safe, "a deletion vector whose entry in the footer lacks something or says something else than the format asks for", hintWriter,
			engines([]string{pyiceberg, golang}, nil, []string{java, duckdb, rust})},
		{"puffin-compressed", Footers, Unreadable, Safe, "a compressed footer, or a codec on a deletion vector", hintWriter, engines([]string{pyiceberg, duckdb}, nil, []string{java, rust})},
		{"puffin-flags", Footers, Unreadable, Fix, "footer flags that no version of the format knows", hintWriter, engines([]string{pyiceberg, golang}, nil, []string{java, duckdb, rust})},
	}
}

// vectorIssues are about the bytes of deletion vectors.
func vectorIssues() []Issue {
	return []Issue{
		{"dv-cardinality", Footers, Unreadable, Fix, "record_count, footer and bitmap disagree about the number of positions", hintWriter,
			engines([]string{java, golang, rust}, nil, []string{pyiceberg, duckdb})},
		{"dv-corrupt", Vectors, Unreadable, Ask, "a deletion vector whose bytes are damaged", hintReread, engines([]string{java, duckdb, golang, rust}, []string{pyiceberg}, nil)},
		{"dv-crc-complement", Vectors, Unreadable, Fix, "a sound deletion vector whose checksum is the one's complement of the right one", hintWriter,
			engines([]string{java, duckdb, golang, rust}, nil, []string{pyiceberg})},
		{"dv-key-order", Vectors, Unreadable, Fix, "keys of a deletion vector that do not ascend, or are counted wrongly", hintWriter, engines([]string{java, pyiceberg, golang}, nil, nil)},
		{"dv-trailing-bytes", Vectors, Risk, Safe, "bytes after the last bitmap of a deletion vector", hintWriter, engines([]string{golang}, nil, []string{java})},
		{"dv-incomplete", Vectors, Wrong, Fix, "a deletion vector that lacks positions of live position delete files, which it hides", hintWriter,
			engines(nil, []string{java, duckdb, golang, rust}, []string{pyiceberg})},
		{"position-out-of-range", Vectors, Wrong, Safe, "positions that the data file does not have", hintWriter, engines(nil, nil, []string{java, pyiceberg, duckdb, golang, rust})},
	}
}

// recordIssues are about the records of position delete files.
func recordIssues() []Issue {
	return []Issue{
		{"delete-dangling-records", Vectors, Waste, Safe, "records of a position delete file whose data files are gone", hintMigrate, nobody()},
		{"delete-superseded", Vectors, Waste, Safe, "a position delete file all of whose records are in deletion vectors", hintMigrate, nobody()},
		{"delete-reference-stale", Vectors, Wrong, Fix, "referenced_data_file of a position delete file names another path than its records", hintWriter, nobody()},
		{"delete-rows", Vectors, Wrong, Ask, "records of a position delete file that are not sorted, have nulls, or columns without field ids", "delete files without these faults have to come from the writer; dvcompactor migrate -c FILE TABLE reads records in any order and leaves files with nulls as they are", nobody()},
	}
}
