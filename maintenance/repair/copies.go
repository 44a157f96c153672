package repair

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"path"
	"slices"

	"github.com/dvcompactor/dvcompactor/internal/storage"
	"github.com/dvcompactor/dvcompactor/maintenance/check"
)

// copyDamaged copies the objects that are concerned to <table>/metadata/dvcompactor/repair/<plan id>/, with a file
// that says what is what. Objects that are not there are left out.
func (r *repairer) copyDamaged(ctx context.Context, report *Report) ([]Copy, error) {
	root, err := storage.TableRoot(r.table.Metadata.Location())
	if err != nil {
		return nil, err
	}
	dir := fmt.Sprintf("%s/metadata/dvcompactor/repair/%s", root, report.PlanID)
	var out []Copy
	for i, location := range r.concerned() {
		to := fmt.Sprintf("%s/%03d-%s", dir, i, path.Base(location))
		n, err := r.copyObject(ctx, location, to)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return out, err
		}
		out = append(out, Copy{Of: location, Location: to, Bytes: n})
	}
	text, err := json.MarshalIndent(struct {
		*Report
		Copies []Copy `json:"copies"`
	}{report, out}, "", "  ")
	if err != nil {
		return out, err
	}
	about := dir + "/repair.json"
	if err := r.table.Store.WriteFile(ctx, about, text); err != nil {
		return out, err
	}
	return append(out, Copy{Of: "this report", Location: about, Bytes: int64(len(text))}), nil
}

// concerned are the objects that findings are about, and those of every deletion vector of a data file that is repaired.
func (r *repairer) concerned() []string {
	all := map[string]bool{}
	_ = r.each(func(f *check.Finding) error {
		all[f.Location] = true
		return nil
	})
	for _, p := range r.patients {
		for _, d := range p.vectors {
			all[d.Path] = true
		}
	}
	delete(all, "")
	return slices.Sorted(maps.Keys(all))
}

func (r *repairer) copyObject(ctx context.Context, from, to string) (int64, error) {
	in, err := r.table.Store.Object(from, 0).SectionReader(ctx)
	if err != nil {
		return 0, err
	}
	out, err := r.table.Store.Create(ctx, to)
	if err != nil {
		return 0, err
	}
	n, err := io.CopyBuffer(struct{ io.Writer }{out}, struct{ io.Reader }{in}, make([]byte, 8<<20))
	if err != nil {
		return n, errors.Join(err, out.Abort())
	}
	return n, out.Close()
}

// removeCopies removes the copies of a repair that did not happen.
func (r *repairer) removeCopies(ctx context.Context, copies []Copy) error {
	var errs []error
	for _, c := range copies {
		errs = append(errs, r.table.Store.Remove(context.WithoutCancel(ctx), c.Location))
	}
	return errors.Join(errs...)
}
