// Package parquetfile opens Parquet files that are objects in a store, without believing them.
//
// What a footer says is compared with the object before memory is asked for because of it. A store that fails is kept
// apart from a file that is damaged. [Reader.Decode] makes an error of what the Parquet library panics at.
package parquetfile
