// Package lake finds the tables that a command line names: it reads the configuration, connects to catalogs when they
// are first needed, and matches names and globs.
package lake
