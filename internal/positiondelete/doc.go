// Package positiondelete reads and writes position delete files: the (file_path, pos) records of format version 2
// (table spec, "Position Delete Files").
//
// The two columns are found by their reserved field ids, and by name when a writer left the ids out. Everything else
// about a file is its writer's business: compression, encodings, row groups, pages, the order of columns and of
// records, repeated records and an additional column row. What cannot be read exactly is an error with a name, and
// never a guess: a null path or position, a missing column, a column of another type.
//
// Files are read in Parquet, Avro and ORC. What is written is Parquet, has the two columns with their field ids, and
// records sorted by path and position.
package positiondelete
