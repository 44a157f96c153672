// Package objectfile gives decoders of file formats access to objects in a store, and keeps a store that fails apart from
// a file that is damaged. [Reader.Decode] makes an error of what a decoder panics at.
package objectfile
