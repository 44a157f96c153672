// Package term writes for people: aligned tables, colours, sizes in binary units, and a progress line. Nothing in it
// asks whether there is a terminal; the caller says so.
package term
