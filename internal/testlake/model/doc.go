// Package model tests the whole program against a plain model of a table: random histories of writers, of our own
// actions, of faults and of races, where after every step the rows that the model holds must be the rows that an
// independent reader finds. It holds tests only.
//
// A history is a script: one step a line, an operation and numbers. Numbers choose among what is there, so any script is
// a valid history and every part of one is too, which is what makes a failing one shrink. The scripts in testdata are
// histories that once failed, or that a deliberate bug fails on.
package model
