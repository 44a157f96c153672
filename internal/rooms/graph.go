package rooms

import (
	"fmt"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// Package is one package and the packages of this module that it imports, all by their paths from the root.
type Package struct {
	Path        string
	Imports     []string // of the files that are built
	TestImports []string // of its tests
}

// Load reads the imports of every Go file below the root of the module. It parses the files itself instead of asking
// the go tool, so that the test cache sees which files the answer depends on.
func Load(root string) ([]Package, error) {
	found := map[string]*imports{}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if path != root && skipped(root, path) {
				return fs.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(path, ".go") || strings.HasPrefix(d.Name(), "_") || strings.HasPrefix(d.Name(), ".") {
			return nil
		}
		return read(root, path, found)
	})
	out := make([]Package, 0, len(found))
	for _, path := range slices.Sorted(maps.Keys(found)) {
		out = append(out, Package{Path: path, Imports: slices.Sorted(maps.Keys(found[path].code)), TestImports: slices.Sorted(maps.Keys(found[path].tests))})
	}
	return out, err
}

// skipped says whether a folder holds no packages of the module: testdata, hidden folders, other modules.
func skipped(root, dir string) bool {
	name := filepath.Base(dir)
	if name == "testdata" || strings.HasPrefix(name, ".") || strings.HasPrefix(name, "_") {
		return true
	}
	_, err := os.Stat(filepath.Join(dir, "go.mod"))
	return err == nil && dir != root
}

type imports struct{ code, tests map[string]bool }

// read adds the imports of one file.
func read(root, path string, found map[string]*imports) error {
	file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ImportsOnly)
	if err != nil {
		return err
	}
	dir, err := filepath.Rel(root, filepath.Dir(path))
	if err != nil {
		return err
	}
	dir = filepath.ToSlash(dir)
	p := found[dir]
	if p == nil {
		p = &imports{code: map[string]bool{}, tests: map[string]bool{}}
		found[dir] = p
	}
	into := p.code
	if strings.HasSuffix(path, "_test.go") {
		into = p.tests
	}
	for _, spec := range file.Imports {
		imported, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		if rest, ours := strings.CutPrefix(imported, Module+"/"); ours {
			into[rest] = true
		}
	}
	return nil
}

// Arrow is an import between two rooms.
type Arrow struct{ From, To string }

// Arrows returns which rooms import which, by the files that are built.
func Arrows(rooms []Room, packages []Package) []Arrow {
	seen := map[Arrow]bool{}
	for _, p := range packages {
		from, known := Of(rooms, p.Path)
		for _, i := range p.Imports {
			if to, ok := Of(rooms, i); ok && known && from.Path != to.Path {
				seen[Arrow{from.Path, to.Path}] = true
			}
		}
	}
	return slices.SortedFunc(maps.Keys(seen), compareArrows)
}

func compareArrows(a, b Arrow) int { return strings.Compare(a.From+" "+a.To, b.From+" "+b.To) }

// Essential leaves out the arrows that follow from others: when a imports b and b imports c, that a also imports c
// says nothing new about the direction.
func Essential(arrows []Arrow) []Arrow {
	next := map[string][]string{}
	for _, a := range arrows {
		next[a.From] = append(next[a.From], a.To)
	}
	return slices.DeleteFunc(slices.Clone(arrows), func(a Arrow) bool {
		return slices.ContainsFunc(next[a.From], func(via string) bool { return via != a.To && reaches(next, via, a.To) })
	})
}

func reaches(next map[string][]string, from, to string) bool {
	return from == to || slices.ContainsFunc(next[from], func(n string) bool { return reaches(next, n, to) })
}
