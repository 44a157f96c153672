// Package bugs shows that the tests can fail: it puts one deliberate bug at a time into the program, each against one of
// its rules, and runs what has to notice: the random histories of package model, or a test that is named with the bug. It
// holds tests only.
//
// The tree is not touched: the go command is told to compile a changed copy of a file in its place. Without -bugs only
// the places where the bugs go are checked, so that the list cannot rot.
package bugs
