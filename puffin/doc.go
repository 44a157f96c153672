// Package puffin reads and writes Puffin files and the deletion vectors in them.
package puffin
