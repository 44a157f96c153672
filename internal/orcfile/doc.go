// Package orcfile reads a column of text and a column of whole numbers from ORC files that are objects in a store,
// without believing them (ORC specification v1). It is for position delete files, and not for tables.
//
// A file ends with a postscript, whose length is its last byte. The postscript gives the compression and the length of the
// footer before it; the footer gives the columns and the stripes. A stripe is streams of bytes and then a footer, which
// gives the kind, the column and the length of each stream, in their order. All of these are protocol buffers, and all
// but the postscript are compressed like the streams: in chunks, each after three bytes that give its length and whether
// it is compressed.
//
//	"ORC" | stripe: streams, footer | stripe ... | statistics | footer | postscript | length of the postscript
//
// A column has these streams: PRESENT, a bit for each row, left out when there are no nulls; DATA; and for text LENGTH
// and, when it is stored by a dictionary, DICTIONARY_DATA. Numbers are run-length encoded in version 1 or 2.
//
// Read are the codecs none, zlib, Snappy, LZ4 and zstd. LZO, Brotli and encrypted files are refused. What a length says is
// compared with the bytes there are before memory is asked for because of it.
package orcfile
