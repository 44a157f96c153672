// Package localblob is a gocloud blob driver for a folder of the local file system.
//
// Keys are file names, byte for byte: spaces, percent signs, question marks, tabs and non-ASCII characters mean
// themselves, so files written by any engine can be opened and files written here are found by every engine. That is
// the difference from gocloud's own fileblob, which escapes many characters.
//
// A written object is atomic and durable. Its bytes go to a temporary file in the directory of the object, which is
// synced, renamed and followed by a sync of the directory, so that after a successful Close a power cut loses nothing
// and no reader ever sees half an object. Directories are made when they are needed and their entry in the parent is
// synced in the same way. With IfNotExist the last step is a hard link, which never replaces a file.
//
// Temporary files have names that start with [TempPrefix]; they are invisible to listings, cannot be used as keys and
// are removed when a write fails or is aborted. A crash may leave one behind, which does no harm.
//
// A key cannot leave the folder: every path is resolved with [os.Root], which refuses ".." and symbolic links that lead
// outside. A bucket over the root directory "/" has no outside and therefore follows all links.
package localblob
