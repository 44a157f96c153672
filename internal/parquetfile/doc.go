// Package parquetfile opens Parquet files that are objects in a store, without believing them: what a footer says is
// compared with the object before memory is asked for because of it.
package parquetfile
