package catalog_test

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/dvcompactor/dvcompactor/catalog"
	"github.com/dvcompactor/dvcompactor/internal/testlake/hive"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "write the table of outcomes in docs/catalogs.md anew")

// Outcomes of a commit, as the document calls them.
const (
	committed = "committed"
	conflict  = "conflict"
	unknown   = "unknown"
	refused   = "refused"
)

// situation is a row of the table: something that happens to a commit.
type situation struct {
	name string
	// cells are by kind of catalog. Where one is missing the situation cannot happen.
	cells map[string]cell
}

// cell is a situation on one kind of catalog and what the catalog must make of it.
type cell struct {
	want string
	// happened says that the snapshot is in the table although the outcome is not that the commit happened.
	happened bool
	// lab, if set, is used in place of that of the column.
	lab func(*testing.T) *lab
	// tune changes how the catalog is opened.
	tune func(*catalog.Options)
	// ways are the ways in which the situation comes about, by name. They end with the test.
	ways map[string]arrangement
}

// arrangement brings a situation about for the next commit to a table that was loaded.
type arrangement func(t *testing.T, l *lab, c catalog.Catalog, tbl *catalog.Table)

// columns are the kinds of catalogs in the table.
var columns = []string{"SQLite", "PostgreSQL", "MySQL", "Glue", "Hive", "REST"}

// laboratories start what the labs of a kind need.
var laboratories = map[string]func(*testing.T) func(*testing.T) *lab{
	"SQLite":     kinds["sqlite"],
	"PostgreSQL": kinds["postgres"],
	"MySQL":      kinds["mysql"],
	"Glue":       glueLabs,
	"Hive":       hiveLabs(hive.Version4),
	"REST":       kinds["rest"],
}

func TestEverySituationHasItsOutcomeOnEveryCatalog(t *testing.T) {
	t.Parallel()
	for _, column := range columns {
		t.Run(column, func(t *testing.T) {
			t.Parallel()
			lab := laboratories[column](t)
			for _, s := range situations {
				for way, arrange := range s.cells[column].ways {
					t.Run(strings.TrimSuffix(s.name+": "+way, ": "), func(t *testing.T) {
						t.Parallel()
						lab, c := lab, s.cells[column]
						if c.lab != nil {
							lab = c.lab
						}
						commitIn(t, lab(t), c, arrange)
					})
				}
			}
		})
	}
}

// commitIn commits in a situation and compares what comes of it.
func commitIn(t *testing.T, l *lab, c cell, arrange arrangement) {
	l.create(t, nil, "db", "t")
	first := l.open(t)
	require.NoError(t, commit(t, first, load(t, first, "db", "t"), "main", 1))
	if c.tune != nil {
		c.tune(&l.options)
	}
	mine := l.open(t)
	tbl := load(t, mine, "db", "t")
	ended := t.Run("commit", func(t *testing.T) {
		arrange(t, l, mine, tbl)
		before := l.metadataFiles(t)
		err := commit(t, mine, tbl, "main", ourSnapshot)
		require.Equal(t, c.want, outcomeOf(t, err), "%v", err)
		if c.want != committed {
			assert.ErrorContains(t, err, "lake.db.t")
		}
		if !c.happened && (c.want == conflict || c.want == refused) {
			assert.Equal(t, before, l.metadataFiles(t), "nothing is left behind")
		}
	})
	if !ended {
		return
	}
	now, err := l.open(t).Load(t.Context(), tbl.Identifier)
	if errors.Is(err, catalog.ErrNotFound) {
		return
	}
	require.NoError(t, err)
	assert.Equal(t, c.happened || c.want == committed, now.Metadata.SnapshotByID(ourSnapshot) != nil)
}

const ourSnapshot = 4711

// outcomeOf is the word for what a commit returned. It is exactly one.
func outcomeOf(t testing.TB, err error) string {
	if err == nil {
		return committed
	}
	var failed *catalog.CommitError
	require.ErrorAs(t, err, &failed)
	words := map[error]string{catalog.ErrConflict: conflict, catalog.ErrUnknown: unknown, catalog.ErrRefused: refused}
	for kind := range words {
		assert.Equal(t, kind == failed.Outcome, errors.Is(err, kind), "%v: %v", kind, err)
	}
	return words[failed.Outcome]
}

func TestTheDocumentHasTheTableOfOutcomes(t *testing.T) {
	t.Parallel()
	const path, begin, end = "../docs/catalogs.md", "<!-- outcomes -->\n", "<!-- end of outcomes -->\n"
	document, err := os.ReadFile(path)
	require.NoError(t, err)
	head, rest, found := bytes.Cut(document, []byte(begin))
	require.True(t, found)
	_, tail, found := bytes.Cut(rest, []byte(end))
	require.True(t, found)
	want := slices.Concat(head, []byte(begin), []byte(outcomeTable(t)), []byte(end), tail)
	if *update {
		require.NoError(t, os.WriteFile(path, want, 0o644))
		return
	}
	assert.Equal(t, string(want), string(document), "stale: go test ./catalog -run TestTheDocumentHasTheTableOfOutcomes -update")
}

// outcomeTable is the table as Markdown, with what it was seen on.
func outcomeTable(t *testing.T) string {
	var b strings.Builder
	fmt.Fprintf(&b, "| what happens to a commit | %s |\n|---%s|\n", strings.Join(columns, " | "), strings.Repeat("|---", len(columns)))
	for _, s := range situations {
		fmt.Fprintf(&b, "| %s |", s.name)
		for _, column := range columns {
			fmt.Fprintf(&b, " %s |", s.cells[column])
		}
		b.WriteByte('\n')
	}
	fmt.Fprintf(&b, "\nSeen on SQLite as in modernc.org/sqlite %s, PostgreSQL and MariaDB as Debian 12 has them (by pgx %s and "+
		"go-sql-driver %s), moto 5.2.5 in place of Glue, with a check of versions in front of it (by aws-sdk-go-v2/service/glue %s), a Hive Metastore 4.0.1 (by the client of gohive %s), and a REST catalog in the process (by the client of iceberg-go %s).\n", version(t, "modernc.org/sqlite"), version(t, "github.com/jackc/pgx/v5"),
		version(t, "github.com/go-sql-driver/mysql"), version(t, "github.com/aws/aws-sdk-go-v2/service/glue"), version(t, "github.com/beltran/gohive"), version(t, "github.com/apache/iceberg-go"))
	return b.String()
}

// String is the cell as the document has it.
func (c cell) String() string {
	switch {
	case c.want == "":
		return "–"
	case c.happened:
		return c.want + ", and it happened"
	}
	return c.want
}

// version is the version of a module that go.mod asks for.
func version(t *testing.T, module string) string {
	data, err := os.ReadFile("../go.mod")
	require.NoError(t, err)
	m := regexp.MustCompile(`(?m)^\s*` + regexp.QuoteMeta(module) + ` (\S+)`).FindSubmatch(data)
	require.NotNil(t, m)
	return string(m[1])
}
