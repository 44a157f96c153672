// Package lakewriter writes to Iceberg tables the way other engines do: it makes tables, appends rows, deletes them
// with position delete files and deletion vectors, and commits. It stands on iceberg-go's own transactions and writers,
// so that what it makes is not of the program's own making.
//
// The demo makes its table with it, tests make theirs and let it race against the program.
package lakewriter
