// Package docs holds documents; this test keeps them true.
package docs

import (
	"cmp"
	"context"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/dvcompactor/dvcompactor/catalog"
	"github.com/dvcompactor/dvcompactor/internal/cli/document"
	"github.com/dvcompactor/dvcompactor/internal/cli/exit"
	"github.com/dvcompactor/dvcompactor/internal/cli/serve"
	"github.com/dvcompactor/dvcompactor/internal/cli/settings"
	"github.com/dvcompactor/dvcompactor/internal/cli/tour"
	"github.com/dvcompactor/dvcompactor/internal/daemon"
	"github.com/dvcompactor/dvcompactor/internal/inspect"
	"github.com/dvcompactor/dvcompactor/maintenance"
	"github.com/dvcompactor/dvcompactor/maintenance/repair"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var root = ".."

func read(t *testing.T, path string) string {
	data, err := os.ReadFile(filepath.Join(root, path))
	require.NoError(t, err)
	return string(data)
}

// documents are the Markdown files that are checked, by their paths from the root.
func documents(t *testing.T) []string {
	var out []string
	for _, pattern := range []string{"*.md", "*/*.md"} {
		found, err := filepath.Glob(filepath.Join(root, pattern))
		require.NoError(t, err)
		for _, path := range found {
			relative, err := filepath.Rel(root, path)
			require.NoError(t, err)
			out = append(out, relative)
		}
	}
	require.Contains(t, out, "README.md")
	return out
}

// A field that is not in docs/json.md is one that nobody can rely on.
func TestEveryFieldOfADocumentIsDescribed(t *testing.T) {
	text := read(t, "docs/json.md")
	for _, doc := range []any{
		document.Run{}, document.Plan{}, document.List{}, document.Skipped{}, document.Failed{}, document.Error{},
		document.Check{}, document.Repair{}, inspect.File{}, inspect.Vector{}, inspect.Table{}, settings.Result{}, tour.Document{}, daemon.StatusDocument{}, serve.Blocked{},
	} {
		for _, name := range fields(reflect.TypeOf(doc)) {
			described := regexp.MustCompile("`([a-z]+(\\[\\])?\\.)?" + name + "[`.[]")
			assert.True(t, described.MatchString(text), "docs/json.md does not describe the field %s of %T", name, doc)
		}
	}
}

// fields are the names of all fields of a document, at any depth.
func fields(of reflect.Type) []string {
	switch of.Kind() {
	case reflect.Pointer, reflect.Slice:
		return fields(of.Elem())
	case reflect.Struct:
	default:
		return nil
	}
	var out []string
	for f := range of.Fields() {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if f.IsExported() && name != "-" {
			if name != "" {
				out = append(out, name)
			}
			out = append(out, fields(f.Type)...)
		}
	}
	return out
}

// Reasons are words that scripts match. The document has to list those that the code can give, and no others.
func TestEveryReasonIsDescribed(t *testing.T) {
	_, section, found := strings.Cut(read(t, "docs/json.md"), "| reason | what is left alone |")
	require.True(t, found)
	section, _, _ = strings.Cut(section, "\n## ")
	described := map[string]bool{}
	for _, m := range regexp.MustCompile("(?m)^\\| `([a-z0-9-]+)` \\|").FindAllStringSubmatch(section, -1) {
		described[m[1]] = true
	}
	given := map[string]bool{}
	for _, code := range sources(t, "maintenance") {
		for _, m := range regexp.MustCompile(`(?:Reason:\s*|\.block\(\w+, |blockTargets\([\w.]+, )"([a-z0-9-]+)"`).FindAllStringSubmatch(code, -1) {
			given[m[1]] = true
		}
	}
	assert.Equal(t, given, described)
}

func sources(t *testing.T, dir string) []string {
	files, err := filepath.Glob(filepath.Join(root, dir, "*.go"))
	require.NoError(t, err)
	var out []string
	for _, path := range files {
		if !strings.HasSuffix(path, "_test.go") {
			relative, err := filepath.Rel(root, path)
			require.NoError(t, err)
			out = append(out, read(t, relative))
		}
	}
	return out
}

func TestTheReadmeHasTheExitCodesOfTheProgram(t *testing.T) {
	var want []string
	for _, m := range regexp.MustCompile(`(?m)^  (\d+) +(.*)$`).FindAllStringSubmatch(exit.Table, -1) {
		want = append(want, "| "+m[1]+" | "+m[2]+" |")
	}
	require.NotEmpty(t, want)
	table := strings.Join(want, "\n")
	assert.True(t, strings.Contains(read(t, "README.md"), table), "README.md should have\n%s", table)
}

func TestEveryKindOfFailureIsDescribed(t *testing.T) {
	text := read(t, "docs/json.md")
	for _, err := range []error{
		maintenance.ErrConflicts, maintenance.ErrStale, maintenance.ErrVerify, maintenance.ErrProof, maintenance.ErrRefusedTable,
		maintenance.ErrNoRef, repair.ErrConfirm, repair.ErrNoRepair, catalog.ErrUnknown, catalog.ErrNotFound, exit.Usagef("x"), os.ErrClosed, context.Canceled,
	} {
		kind := exit.Kind(err)
		assert.True(t, strings.Contains(text, "`"+kind+"`"), "docs/json.md does not describe the kind %s", kind)
	}
}

var link = regexp.MustCompile(`\]\(([^)\s]+)\)`)

func TestLinksLeadSomewhere(t *testing.T) {
	for _, doc := range documents(t) {
		for _, m := range link.FindAllStringSubmatch(read(t, doc), -1) {
			target, anchor, _ := strings.Cut(m[1], "#")
			if strings.Contains(target, "://") {
				continue
			}
			path := doc
			if target != "" {
				path = filepath.Join(filepath.Dir(doc), target)
			}
			_, err := os.Stat(filepath.Join(root, path))
			if assert.NoError(t, err, "%s links to %s", doc, m[1]) && anchor != "" {
				assert.Contains(t, anchors(read(t, path)), anchor, "%s links to %s", doc, m[1])
			}
		}
	}
}

// anchors are those that Markdown renderers give to headings.
func anchors(text string) []string {
	var out []string
	for _, m := range regexp.MustCompile(`(?m)^#+ (.*)$`).FindAllStringSubmatch(text, -1) {
		name := regexp.MustCompile(`[^\p{L}\p{N} _-]`).ReplaceAllString(strings.ToLower(m[1]), "")
		out = append(out, strings.ReplaceAll(name, " ", "-"))
	}
	return out
}

// declared are the names that are declared at the top of the files of each package, by the last part of its path.
func declared(t *testing.T) map[string]map[string]bool {
	out := map[string]map[string]bool{}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() && (d.Name() == "testdata" || strings.HasPrefix(d.Name(), ".") && path != root) {
			return cmp.Or(err, fs.SkipDir)
		}
		if d.IsDir() || !strings.HasSuffix(path, ".go") {
			return nil
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		pkg := filepath.Base(filepath.Dir(path))
		if out[pkg] == nil {
			out[pkg] = map[string]bool{}
		}
		for _, decl := range file.Decls {
			names(decl, out[pkg])
		}
		return nil
	})
	require.NoError(t, err)
	return out
}

func names(decl ast.Decl, into map[string]bool) {
	switch d := decl.(type) {
	case *ast.FuncDecl:
		into[d.Name.Name] = true
	case *ast.GenDecl:
		for _, spec := range d.Specs {
			switch s := spec.(type) {
			case *ast.TypeSpec:
				into[s.Name.Name] = true
			case *ast.ValueSpec:
				for _, n := range s.Names {
					into[n.Name] = true
				}
			}
		}
	}
}

// These documents name code as `package.name` and tests by their names. Both have to be there.
func TestCodeThatDocumentsNameIsThere(t *testing.T) {
	all := declared(t)
	tests := map[string]bool{}
	for _, pkg := range all {
		for name := range pkg {
			tests[name] = true
		}
	}
	for _, doc := range []string{"docs/architecture.md", "docs/reports.md", "CONTRIBUTING.md"} {
		text := read(t, doc)
		for _, m := range regexp.MustCompile(`\b(?:Test|Fuzz)[A-Z]\w+`).FindAllString(text, -1) {
			assert.Contains(t, tests, m, "%s names a test that does not exist", doc)
		}
		for _, m := range regexp.MustCompile("`([a-z]+)\\.([A-Za-z]\\w*)`").FindAllStringSubmatch(text, -1) {
			if pkg, ok := all[m[1]]; ok {
				assert.True(t, pkg[m[2]], "%s names %s.%s, which does not exist", doc, m[1], m[2])
			}
		}
	}
}
