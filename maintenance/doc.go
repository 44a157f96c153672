// Package maintenance compacts and migrates the deletes of an Iceberg table.
//
// One pipeline serves both actions; they differ only in what they choose:
//
//	state -> plan -> merge -> write -> prove -> commit loop (rebase) -> verify -> report
//
// The invariant: for every live data file the set of deleted positions is the same before and after. What cannot be
// shown to keep it stays as it is, with a reason in the report.
//
// Words used throughout: a delete file is settled when it may be removed because every live data file it applies to has
// a complete deletion vector in the result; a data file is blocked when something about its deletes cannot be read or
// is already wrong, so that no deletion vector may be made for it.
package maintenance
