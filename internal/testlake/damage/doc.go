// Package damage makes tables that are wrong in every way that a check finds and a repair mends, each with the right
// answer, and healthy ones that only look like it. For tests only.
//
// A [Case] is one fault put into one shape of table: the fault is always at the first data file or its deletes, the shape
// says what is around it. The tables are made with package forge and written with nothing of the program under test.
package damage
