// Package reports tests the program on tables that users of Iceberg engines have reported trouble with, and on odd ones
// that nobody's writer makes. It holds tests only; docs/reports.md says which report each is about.
//
// A table is made in a forge, entry by entry. Every commit of ours to it is judged, and every run is followed by another
// one that has to find nothing to do.
package reports
