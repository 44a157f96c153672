// Package repair mends damaged deletes of a table when an operator says so.
//
//	check -> choose findings -> work out the right deletes -> (apply) copy what is damaged -> write, prove,
//	check the result, commit, verify
//
// A repair goes by data file, not by finding. For each data file concerned the complete set of deleted positions is worked
// out from everything that can be read about it, and a new deletion vector with that set takes the place of all entries that
// were wrong; in a table of format version 2 a new position delete file does. Which faults may be looked past is what the
// issue ids say that the operator gives: a data file with another fault is refused.
//
// A bitmap is never lowered unless the operator confirms the exact number of rows that come back.
package repair
