// Package demo makes a small lakehouse on the spot and shows what the program does to it: a table that many delete jobs
// have worn down, migrated, worn down again and compacted, with all its rows read after each step by another
// implementation (iceberg-go's scan) to show that they stay the same.
package demo
