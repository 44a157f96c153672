// Package daemon runs the policies of a configuration on the tables of its catalogs, for as long as it is let.
//
// What is due is decided by the [Roster], which does nothing by itself: it is told the time and what happened, and says what
// is to be done and when to ask again. So a year of operation can be simulated in a second. The [Daemon] around it has the
// clock, the workers, and the network.
package daemon
