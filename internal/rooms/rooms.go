package rooms

import (
	"fmt"
	"slices"
	"strings"
)

// Module is the path that the import paths of this module begin with.
const Module = "github.com/dvcompactor/dvcompactor"

// Room is a package and everything below it.
type Room struct {
	Path string // from the root of the module
	What string // what it is for, in a few words
	// May are the rooms that its packages may import.
	May []string
	// Alone says that its tests may not import other rooms either, so that the room can be used by other projects.
	Alone bool
	// X and Y are its place in the picture, in columns and rows.
	X float64
	Y int
}

// All returns the rooms, from those that people meet to those that move bytes.
func All() []Room {
	return []Room{
		{Path: "cmd/dvcompactor", What: "one file for each verb: flags only", X: 1.5, Y: 0,
			May: []string{"internal/cli", "internal/daemon", "internal/demo", "config", "internal/term", "internal/logkey", "maintenance", "puffin", "internal/positiondelete"}},
		{Path: "internal/cli", What: "verbs, documents, exit codes", X: 1, Y: 1,
			May: []string{"internal/daemon", "internal/demo", "internal/inspect", "config", "internal/term", "internal/logkey", "maintenance", "catalog", "puffin", "internal/storage"}},
		{Path: "internal/daemon", What: "schedules, leases, metrics", X: 3, Y: 2,
			May: []string{"config", "maintenance", "catalog", "internal/storage", "internal/term", "internal/logkey"}},
		{Path: "internal/demo", What: "a lakehouse to try it on", X: 2, Y: 2,
			May: []string{"maintenance", "catalog", "internal/lakewriter"}},
		{Path: "config", What: "the configuration file", X: 0, Y: 2, May: []string{"maintenance"}},
		{Path: "internal/inspect", What: "what is in a file or table", X: 1, Y: 2,
			May: []string{"maintenance", "catalog", "snapshot", "puffin", "internal/term", "internal/storage"}},
		{Path: "internal/term", What: "tables, colours, progress", X: 0, Y: 3},
		{Path: "internal/logkey", What: "names of log fields", X: 3, Y: 3},
		{Path: "maintenance", What: "plan, merge, prove, commit", X: 1.5, Y: 3,
			May: []string{"snapshot", "catalog", "puffin", "internal/positiondelete", "internal/rowcount", "internal/storage"}},
		{Path: "internal/testlake", What: "test tables and servers", X: 4, Y: 2,
			May: []string{"catalog", "internal/lakewriter", "internal/storage"}},
		{Path: "internal/lakewriter", What: "writes tables as engines do", X: 4, Y: 3,
			May: []string{"catalog"}},
		{Path: "internal/positiondelete", What: "position delete files", X: 1, Y: 4, May: []string{"internal/parquetfile", "internal/objectfile", "internal/orcfile", "internal/avroheader", "puffin"}},
		{Path: "internal/rowcount", What: "how many rows a data file has", X: 0, Y: 4, May: []string{"internal/parquetfile", "internal/objectfile", "internal/orcfile", "internal/avroheader"}},
		{Path: "snapshot", What: "what is live; the next snapshot", X: 3, Y: 4, May: []string{"internal/avroheader", "internal/storage"}},
		{Path: "puffin", What: "the file format, the DV codec", X: 2, Y: 4, Alone: true},
		{Path: "catalog", What: "load, list, commit", X: 4, Y: 4, May: []string{"internal/storage"}},
		{Path: "internal/parquetfile", What: "opens Parquet files with care", X: 0, Y: 5, May: []string{"internal/objectfile"}},
		{Path: "internal/orcfile", What: "two columns of ORC files", X: 1, Y: 5, May: []string{"internal/objectfile"}},
		{Path: "internal/objectfile", What: "objects for decoders of files", X: 0.5, Y: 6},
		{Path: "internal/avroheader", What: "the start of a manifest", X: 2.5, Y: 5},
		{Path: "internal/storage", What: "bytes: ranges, retries, counts", X: 3.5, Y: 5},
	}
}

// TestsOnly returns the packages, with everything below them, that only tests may import.
func TestsOnly() []string {
	return []string{"internal/testlake", "internal/crash", "internal/cli/golden", "internal/rooms", "docs", "deploy"}
}

// Of returns the room of a package, by its path from the root of the module.
func Of(rooms []Room, pkg string) (Room, bool) {
	for _, r := range rooms {
		if within(pkg, r.Path) {
			return r, true
		}
	}
	return Room{}, false
}

func within(pkg, path string) bool { return pkg == path || strings.HasPrefix(pkg, path+"/") }

func testsOnly(pkg string) bool {
	return slices.ContainsFunc(TestsOnly(), func(path string) bool { return within(pkg, path) })
}

// Check returns a sentence for every import that is not allowed and for every package without a room.
func Check(rooms []Room, packages []Package) []string {
	var out []string
	for _, p := range packages {
		from, ok := Of(rooms, p.Path)
		if !ok && !testsOnly(p.Path) {
			out = append(out, fmt.Sprintf("%s belongs to no room: add one to internal/rooms", p.Path))
			continue
		}
		for _, i := range p.Imports {
			out = append(out, forbidden(from, p.Path, i)...)
		}
		for _, i := range p.TestImports {
			if from.Alone && !within(i, from.Path) {
				out = append(out, fmt.Sprintf("%s: its tests import %s, but %s stands alone", p.Path, i, from.Path))
			}
		}
	}
	return out
}

// forbidden returns what is wrong with one import of a file that is not a test.
func forbidden(from Room, pkg, imported string) []string {
	switch {
	case testsOnly(imported) && !testsOnly(pkg):
		return []string{fmt.Sprintf("%s imports %s, which is for tests", pkg, imported)}
	case from.Path == "" || within(imported, from.Path):
		return nil
	case !slices.ContainsFunc(from.May, func(path string) bool { return within(imported, path) }):
		return []string{fmt.Sprintf("%s imports %s, but %s may import %s", pkg, imported, from.Path, list(from.May))}
	}
	return nil
}

func list(paths []string) string {
	if len(paths) == 0 {
		return "no other room"
	}
	return "only " + strings.Join(paths, ", ")
}
