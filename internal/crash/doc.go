// Package crash kills the program at every write of a run and looks at what is left: the real program, as a process,
// with SIGKILL. It has tests only, which write docs/crash-points.md:
//
//	go test ./internal/crash -update
package crash
