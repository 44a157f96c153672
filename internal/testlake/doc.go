// Package testlake gives tests tables to work on: copies of lakes that the Java reference wrote, with what it reads in
// them, and a reader of live deletes that shares no code with the program under test.
package testlake
