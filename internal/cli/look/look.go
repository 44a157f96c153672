// Package look carries out the command inspect: it finds out what its argument is, reads it and prints it.
package look

import (
	"context"
	"errors"
	"io/fs"
	"os"

	"github.com/dvcompactor/dvcompactor/internal/cli/exit"
	"github.com/dvcompactor/dvcompactor/internal/cli/lake"
	"github.com/dvcompactor/dvcompactor/internal/cli/runs"
	"github.com/dvcompactor/dvcompactor/internal/inspect"
	"github.com/dvcompactor/dvcompactor/internal/storage"
	"github.com/dvcompactor/dvcompactor/puffin"
)

// Options of inspect.
type Options struct {
	runs.Output
	Lake *lake.Lake
	Ref  string
	// Range asks for a deletion vector at a range instead of the footer; nil asks for the footer.
	Range *Range
	All   bool
	Bytes bool
}

// Range is where a deletion vector is said to be.
type Range struct{ Offset, Length, RecordCount int64 }

// errDamaged says that what was asked for is there and not ok.
var errDamaged = errors.New("not ok")

// Inspect looks at a location, a local file or a table.
func Inspect(ctx context.Context, o Options, what string) error {
	if o.isTable(what) {
		return o.table(ctx, what)
	}
	object, err := o.object(ctx, what)
	if err != nil {
		return err
	}
	if o.Range != nil {
		return o.vector(ctx, object)
	}
	return o.file(ctx, object)
}

// isTable says whether the argument is a table: there are catalogs, nothing is asked that only a file has, and there is
// no such file.
func (o *Options) isTable(what string) bool {
	if o.Range != nil || lake.IsLocation(what) || len(o.Lake.Catalogs()) == 0 {
		return false
	}
	if _, err := os.Lstat(what); err == nil {
		return false
	}
	_, err := lake.ParseName(what, o.Lake.Catalogs())
	return err == nil
}

func (o *Options) object(ctx context.Context, what string) (*storage.Object, error) {
	location, err := lake.Location(what)
	if err != nil {
		return nil, exit.With(exit.Usage, err)
	}
	store, err := o.Lake.Store(ctx)
	if err != nil {
		return nil, err
	}
	return store.Object(location, 0), nil
}

// missing gives the error of an object that is not there its code.
func missing(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return exit.With(exit.NotFound, err)
	}
	return err
}

func damaged(ok bool, err error) error {
	if err == nil && !ok {
		err = &exit.Error{Code: exit.Damaged, Err: errDamaged, Reported: true}
	}
	return err
}

func (o *Options) text() inspect.TextOptions {
	return inspect.TextOptions{Style: o.Style, All: o.All, Bytes: o.Bytes}
}

func (o *Options) file(ctx context.Context, object *storage.Object) error {
	f, err := inspect.ReadFile(ctx, object)
	if err != nil {
		return missing(err)
	}
	if o.JSON {
		return damaged(f.Footer.OK(), f.WriteJSON(o.Out))
	}
	return damaged(f.WriteText(ctx, o.Out, object, o.text()))
}

func (o *Options) vector(ctx context.Context, object *storage.Object) error {
	rng := puffin.DeletionVectorRange{Offset: o.Range.Offset, Length: o.Range.Length, RecordCount: o.Range.RecordCount, Location: object.Location()}
	v, err := inspect.ReadVector(ctx, object, rng)
	if err != nil {
		return missing(err)
	}
	if o.JSON {
		return damaged(v.OK(), v.WriteJSON(o.Out))
	}
	return damaged(v.OK(), v.WriteText(ctx, o.Out, object, rng, o.text()))
}

func (o *Options) table(ctx context.Context, what string) error {
	targets, err := o.Lake.Find(ctx, []string{what})
	if err != nil {
		return err
	}
	if len(targets) != 1 {
		return exit.Usagef("%s means %d tables: name one", what, len(targets))
	}
	cat, err := o.Lake.Catalog(ctx, targets[0].Catalog)
	if err != nil {
		return err
	}
	loaded, err := cat.Load(ctx, targets[0].Identifier)
	if err != nil {
		return err
	}
	t, err := inspect.ReadTable(ctx, loaded, o.Ref, o.Lake.Settings().Defaults.Parallelism)
	if err != nil {
		return err
	}
	if o.JSON {
		return t.WriteJSON(o.Out)
	}
	return t.WriteText(o.Out, o.text())
}

// RangeOf makes a range of flags; the booleans say which were given. Offset and length go together.
func RangeOf(r Range, offset, length, recordCount bool) (*Range, error) {
	switch {
	case offset && length:
		return &r, nil
	case offset, length, recordCount:
		return nil, exit.Usagef("a deletion vector is read with --offset and --length, and --record-count if it is known")
	}
	return nil, nil
}
