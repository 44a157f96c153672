package lake

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/dvcompactor/dvcompactor/config"
	"github.com/dvcompactor/dvcompactor/internal/cli/exit"
)

// Name is a table name or glob as written on the command line, taken apart.
type Name struct {
	Text    string
	Catalog string   // name or glob of the catalog
	Table   []string // namespace levels, then the table, each a name or a glob
}

// Glob says whether the name holds * or ?.
func (n Name) Glob() bool { return config.IsGlob(n.Text) }

// ParseName takes a name apart. The first level is the catalog when there is one of that name, or when it is a glob;
// it can be left out when there is only one catalog. At least a namespace and a table must be left.
func ParseName(text string, catalogs []string) (Name, error) {
	levels := strings.Split(text, ".")
	if text == "" || slices.Contains(levels, "") {
		return Name{}, exit.Usagef("table %q: want catalog.namespace.table", text)
	}
	first := levels[0]
	known := slices.ContainsFunc(catalogs, func(c string) bool { return config.MatchText(first, c) })
	switch {
	case known && len(levels) > 2:
		return Name{Text: text, Catalog: first, Table: levels[1:]}, nil
	case len(catalogs) == 1 && len(levels) > 1:
		return Name{Text: text, Catalog: catalogs[0], Table: levels}, nil
	case len(levels) < 3:
		return Name{}, exit.Usagef("table %q: want catalog.namespace.table, where the catalog is one of %s", text, strings.Join(catalogs, ", "))
	}
	return Name{}, exit.With(exit.NotFound, fmt.Errorf("table %s: %w %q: the configuration has %s", text, errNoCatalog, first, strings.Join(catalogs, ", ")))
}

var errNoCatalog = errors.New("no catalog")

// Match says whether the name or glob means the table of a catalog, as [config.MatchTable] does.
func (n Name) Match(catalog string, identifier []string) bool {
	return config.MatchText(n.Catalog, catalog) && config.MatchTable(n.Table, identifier)
}
