package rooms

import (
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "draw docs/rooms.svg anew")

var root = filepath.Join("..", "..")

func packages(t *testing.T) []Package {
	out, err := Load(root)
	require.NoError(t, err)
	require.Greater(t, len(out), 10, "the packages were not found")
	return out
}

func TestImportsGoInTheAllowedDirection(t *testing.T) {
	for _, mistake := range Check(All(), packages(t)) {
		t.Error(mistake)
	}
}

func TestThePictureShowsTheRealImports(t *testing.T) {
	path := filepath.Join(root, "docs", "rooms.svg")
	drawn := SVG(All(), packages(t))
	if *update {
		require.NoError(t, os.WriteFile(path, []byte(drawn), 0o644))
		return
	}
	stored, err := os.ReadFile(path)
	require.NoError(t, err)
	assert.Equal(t, drawn, string(stored), "imports changed: go test ./internal/rooms -update draws the picture anew")
}

// No two rooms may import each other, directly or by way of others, whatever the table says.
func TestTheTableHasNoCircles(t *testing.T) {
	next := map[string][]string{}
	for _, r := range All() {
		for _, to := range r.May {
			_, ok := Of(All(), to)
			assert.True(t, ok, "%s may import %s, which is no room", r.Path, to)
		}
		next[r.Path] = r.May
	}
	done := map[string]bool{}
	var visit func(path string, above []string)
	visit = func(path string, above []string) {
		require.NotContains(t, above, path)
		for _, to := range next[path] {
			if !done[to] {
				visit(to, append(above, path))
			}
		}
		done[path] = true
	}
	for path := range next {
		visit(path, nil)
	}
}

func TestNoTwoRoomsShareAPlaceInThePicture(t *testing.T) {
	for i, a := range All() {
		for _, b := range All()[:i] {
			assert.False(t, a.Y == b.Y && a.X < b.X+1 && b.X < a.X+1, "%s and %s", a.Path, b.Path)
		}
	}
}

func TestForbiddenImportsAreFound(t *testing.T) {
	for name, c := range map[string]struct {
		pkg  Package
		want string
	}{
		"upwards":                     {Package{Path: "catalog", Imports: []string{"maintenance"}}, "catalog imports maintenance, but catalog may import only internal/storage"},
		"sideways":                    {Package{Path: "snapshot", Imports: []string{"catalog"}}, "snapshot imports catalog, but snapshot may import only internal/avroheader, internal/storage"},
		"from below a room":           {Package{Path: "internal/storage/localblob", Imports: []string{"puffin"}}, "internal/storage/localblob imports puffin, but internal/storage may import no other room"},
		"of a room that stands alone": {Package{Path: "puffin", TestImports: []string{"internal/storage"}}, "puffin: its tests import internal/storage, but puffin stands alone"},
		"of a package for tests":      {Package{Path: "maintenance", Imports: []string{"internal/testlake"}}, "maintenance imports internal/testlake, which is for tests"},
		"of a part of it":             {Package{Path: "internal/cli/show", Imports: []string{"internal/cli/golden"}}, "internal/cli/show imports internal/cli/golden, which is for tests"},
		"without a room":              {Package{Path: "pkg/util"}, "pkg/util belongs to no room: add one to internal/rooms"},
	} {
		t.Run(name, func(t *testing.T) {
			assert.Equal(t, []string{c.want}, Check(All(), []Package{c.pkg}))
		})
	}
	fine := []Package{
		{Path: "maintenance", Imports: []string{"puffin", "internal/storage/localblob"}, TestImports: []string{"internal/testlake"}},
		{Path: "internal/testlake/restcatalog", Imports: []string{"internal/storage", "internal/testlake"}},
		{Path: "puffin/internal/oracle", TestImports: []string{"puffin"}},
		{Path: "internal/rooms"},
	}
	assert.Empty(t, Check(All(), fine))
}

func TestArrowsThatFollowFromOthersAreLeftOut(t *testing.T) {
	all := []Arrow{{"a", "b"}, {"a", "c"}, {"a", "d"}, {"b", "c"}, {"c", "d"}}
	assert.Equal(t, []Arrow{{"a", "b"}, {"b", "c"}, {"c", "d"}}, Essential(all))
}

func TestPackagesAreReadAsTheGoToolFindsThem(t *testing.T) {
	dir := t.TempDir()
	for path, text := range map[string]string{
		"a/a.go":          "package a\nimport (\n\t\"fmt\"\n\tx \"" + Module + "/b\"\n)\n",
		"a/a_test.go":     "package a_test\nimport _ \"" + Module + "/c\"\n",
		"a/testdata/x.go": "not Go",
		"a/_old.go":       "not Go",
		".hidden/h.go":    "not Go",
		"other/go.mod":    "module other",
		"other/o.go":      "not Go",
		"b/deep/b.go":     "package deep\nimport \"" + Module + "extra/c\"\n",
		"go.mod":          "module " + Module,
	} {
		require.NoError(t, os.MkdirAll(filepath.Join(dir, filepath.Dir(path)), 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(dir, path), []byte(text), 0o644))
	}
	got, err := Load(dir)
	require.NoError(t, err)
	assert.Equal(t, []Package{{Path: "a", Imports: []string{"b"}, TestImports: []string{"c"}}, {Path: "b/deep"}}, got)
}
