package serve

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/dvcompactor/dvcompactor/catalog"
	"github.com/dvcompactor/dvcompactor/config"
	"github.com/dvcompactor/dvcompactor/internal/cli/document"
	"github.com/dvcompactor/dvcompactor/internal/cli/exit"
	"github.com/dvcompactor/dvcompactor/internal/cli/lake"
	"github.com/dvcompactor/dvcompactor/internal/cli/runs"
	"github.com/dvcompactor/dvcompactor/internal/daemon"
	"github.com/dvcompactor/dvcompactor/internal/logkey"
	"github.com/dvcompactor/dvcompactor/internal/term"
	"go.uber.org/zap"
)

// BlockOptions of pause and resume.
type BlockOptions struct {
	runs.Output
	Source lake.Source
	Table  string
	// Check and Maintenance choose what of the table is meant; neither means both.
	Check, Maintenance bool
}

// Blocked is the document of pause and resume: how the table stands now, and how it stood before.
type Blocked struct {
	Table string        `json:"table"`
	Kinds []BlockedKind `json:"kinds"`
}

// BlockedKind is one kind of run on the table.
type BlockedKind struct {
	Kind      string `json:"kind"` // maintenance | check
	Paused    string `json:"paused"`
	Halted    string `json:"halted"`
	WasPaused string `json:"was_paused"`
	WasHalted string `json:"was_halted"`
}

// Pause makes daemons leave a table alone until it is resumed. A run that has begun goes on.
func Pause(ctx context.Context, o BlockOptions, reason string) error {
	if strings.TrimSpace(reason) == "" {
		return exit.Usagef("--reason is missing: say why, for whoever sees the table paused")
	}
	return o.change(ctx, reason)
}

// Resume lets daemons work on a table again that was paused or halted.
func Resume(ctx context.Context, o BlockOptions) error {
	return o.change(ctx, "")
}

// change pauses the table for a reason, or with none resumes it, for each kind that is meant.
func (o *BlockOptions) change(ctx context.Context, reason string) error {
	l, states, err := remembering(ctx, o.Source)
	if err != nil {
		return err
	}
	defer l.close()
	table, err := o.table(ctx, l)
	if err != nil {
		return err
	}
	doc := Blocked{Table: table}
	for _, check := range []bool{false, true} {
		if o.Check != o.Maintenance && o.Check != check {
			continue
		}
		k := daemon.Key{Table: table, Check: check}
		was, now, err := o.order(ctx, states, k, reason)
		if err != nil {
			return err
		}
		doc.Kinds = append(doc.Kinds, BlockedKind{kind(check), now.Pause(), now.Halted, was.Pause(), was.Halted})
	}
	return o.print(doc)
}

// order gives the order about one kind, and returns how it stood and how it stands. Resuming also takes back what a daemon
// decided; it does not write otherwise what daemons write.
func (o *BlockOptions) order(ctx context.Context, states daemon.States, k daemon.Key, reason string) (was, now daemon.Record, err error) {
	was, _, err = states.Load(ctx, k)
	damaged := errors.Is(err, daemon.ErrDamagedState)
	if damaged {
		o.Log.Warn("what was remembered of the table is given up", zap.String(logkey.Table, k.Table), zap.String(logkey.Error, exit.Text(err)))
		was, err = daemon.Record{}, nil
	}
	if err == nil {
		err = states.Order(ctx, k, reason)
	}
	now = was
	now.Ordered = reason
	if reason == "" {
		now.Paused, now.Halted, now.Failures = "", "", 0
	}
	if err == nil && (damaged || now.Paused != was.Paused || now.Halted != was.Halted) {
		err = states.Save(ctx, k, now)
	}
	return was, now, err
}

func kind(check bool) string {
	if check {
		return "check"
	}
	return "maintenance"
}

// table returns the full name of the table, which has to exist as far as the catalog can say.
func (o *BlockOptions) table(ctx context.Context, l *lakes) (string, error) {
	if config.IsGlob(o.Table) {
		return "", exit.Usagef("%q: name one table", o.Table)
	}
	n, err := lake.ParseName(o.Table, l.config.CatalogNames())
	if err != nil {
		return "", err
	}
	c, err := l.catalog(ctx, n.Catalog)
	if err == nil {
		_, err = c.Load(ctx, n.Table)
	}
	if errors.Is(err, catalog.ErrNotFound) || ctx.Err() != nil {
		return "", err
	}
	if err != nil {
		o.Log.Warn("the catalog does not say whether the table exists", zap.String(logkey.Table, o.Table), zap.String(logkey.Error, exit.Text(err)))
	}
	return n.Catalog + "." + strings.Join(n.Table, "."), nil
}

func (o *BlockOptions) print(doc Blocked) error {
	if o.JSON {
		return document.Write(o.Out, doc)
	}
	for _, k := range doc.Kinds {
		text := o.Style.Good("not blocked")
		switch was := cmp.Or(k.WasHalted, k.WasPaused); {
		case k.Halted != "":
			text = o.Style.Bad("halted") + ": " + term.Safe(k.Halted)
		case was != "" && k.Paused == "":
			text = o.Style.Good("resumed") + "; it was blocked: " + term.Safe(was)
		}
		if k.Paused != "" {
			text = o.Style.Warn("paused") + ": " + term.Safe(k.Paused)
		}
		if _, err := fmt.Fprintf(o.Out, "%s  %s  %s\n", o.Style.Bold(term.Safe(doc.Table)), k.Kind, text); err != nil {
			return err
		}
	}
	return nil
}
