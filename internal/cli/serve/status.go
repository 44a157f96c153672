package serve

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/dvcompactor/dvcompactor/internal/cli/document"
	"github.com/dvcompactor/dvcompactor/internal/cli/exit"
	"github.com/dvcompactor/dvcompactor/internal/cli/lake"
	"github.com/dvcompactor/dvcompactor/internal/cli/runs"
	"github.com/dvcompactor/dvcompactor/internal/cli/show"
	"github.com/dvcompactor/dvcompactor/internal/daemon"
)

// StatusOptions of status.
type StatusOptions struct {
	runs.Output
	Source  lake.Source
	Tables  []string // names and globs; none means all that have a policy
	Version string
	Now     func() time.Time
}

// Status prints how tables stand, from what daemons remembered: none needs to run. A catalog that does not answer is an error
// with the code Partial when another one does.
func Status(ctx context.Context, o StatusOptions) error {
	l, states, err := remembering(ctx, o.Source)
	if err != nil {
		return err
	}
	defer l.close()
	names, err := l.names(o.Tables)
	if err != nil {
		return err
	}
	list := func(ctx context.Context, catalog string) ([]string, error) {
		tables, err := l.list(ctx, catalog)
		return matching(names, tables), err
	}
	d := daemon.New(daemon.Options{Config: l.config, Catalogs: l.config.CatalogNames(), List: list, States: states, Log: o.Log, Now: o.Now})
	status, err := d.Look(ctx)
	if err == nil && len(names) > 0 && len(status.Tables) == 0 {
		return exit.With(exit.NotFound, errors.New("no table of that name has a policy"))
	}
	if err != nil && len(status.Missing) < len(l.config.Catalogs) {
		err = exit.With(exit.Partial, err)
	}
	return told(printStatus(o.Output, status.Document(o.Version)), exit.Interruption(ctx, err))
}

// told marks an error as one that the result tells of, unless that could not be printed.
func told(printed, err error) error {
	if printed != nil {
		return errors.Join(err, printed)
	}
	return exit.Reported(err)
}

// printStatus prints a status in the form that is asked for.
func printStatus(o runs.Output, doc daemon.StatusDocument) error {
	if o.JSON {
		return document.Write(o.Out, doc)
	}
	return show.Status(o.Out, o.Style, doc)
}

// remembering opens the configuration and its states, of which there have to be some that outlive a process.
func remembering(ctx context.Context, source lake.Source) (*lakes, daemon.States, error) {
	l, err := open(source, nil)
	if err != nil {
		return nil, nil, err
	}
	if l.config.Daemon.State == "" {
		l.close()
		return nil, nil, exit.Usagef("daemon.state is not in the configuration: a daemon keeps what it remembers in memory, where nobody else can see or change it")
	}
	states, err := l.states(ctx)
	if err != nil {
		l.close()
		return nil, nil, err
	}
	return l, states, nil
}

// names takes names and globs of the command line apart.
func (l *lakes) names(texts []string) ([]lake.Name, error) {
	out := make([]lake.Name, 0, len(texts))
	for _, text := range texts {
		n, err := lake.ParseName(text, l.config.CatalogNames())
		if err != nil {
			return nil, err
		}
		out = append(out, n)
	}
	return out, nil
}

// matching returns the tables that one of the names means, or all when there are no names.
func matching(names []lake.Name, tables []string) []string {
	if len(names) == 0 {
		return tables
	}
	var out []string
	for _, table := range tables {
		if means(names, table) {
			out = append(out, table)
		}
	}
	return out
}

// means says whether one of the names means a table, given by its full name.
func means(names []lake.Name, table string) bool {
	levels := strings.Split(table, ".")
	for _, n := range names {
		if n.Match(levels[0], levels[1:]) {
			return true
		}
	}
	return false
}
