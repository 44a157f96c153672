package repair_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/table"
	"github.com/dvcompactor/dvcompactor/internal/testlake"
	"github.com/dvcompactor/dvcompactor/internal/testlake/damage"
	"github.com/dvcompactor/dvcompactor/internal/testlake/forge"
	"github.com/dvcompactor/dvcompactor/maintenance/check"
	"github.com/dvcompactor/dvcompactor/maintenance/repair"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// ward is a damaged table that is to be mended.
type ward struct {
	*damage.Table
	t       *testing.T
	options repair.Options
}

// admit makes the table of a case.
func admit(t *testing.T, c damage.Case) *ward {
	w := &ward{t: t, Table: c.Make(t)}
	w.options = repair.Options{Ref: w.Ref, Issues: c.Issues(), Tag: repair.TagAlways, Version: "test"}
	if len(c.Name)%2 == 0 {
		w.options.Memory, w.options.Parallelism = 1, 1 // one data file at a time
	}
	for from, to := range w.Aliases {
		w.options.Aliases = append(w.options.Aliases, repair.Alias{From: from, To: to})
	}
	return w
}

func (w *ward) check() *check.Report {
	r, err := check.Run(w.t.Context(), w.Lake.Load(), check.Options{Ref: w.Ref, Level: check.Vectors})
	require.NoError(w.t, err)
	return r
}

func (w *ward) run(change func(*repair.Options)) (*repair.Report, error) {
	o := w.options
	if change != nil {
		change(&o)
	}
	return repair.Run(w.t.Context(), w.Lake.Catalog, forge.Ident(), o)
}

func applying(o *repair.Options) { o.Apply = true }

// restoring agrees to so many rows that come back.
func restoring(n int64) func(*repair.Options) {
	return func(o *repair.Options) { o.Apply, o.RestoreRows = true, &n }
}

// photo is all there is of a table: its metadata and every object.
type photo struct {
	meta    table.Metadata
	objects map[string]string
}

func (w *ward) photo() photo {
	out := photo{meta: w.Lake.Load().Metadata, objects: map[string]string{}}
	for _, key := range w.Lake.Keys() {
		data, err := w.Lake.Bucket.ReadAll(w.t.Context(), key)
		require.NoError(w.t, err)
		out.objects[key] = string(data)
	}
	return out
}

// assertUnchanged says that nothing was written or committed.
func (w *ward) assertUnchanged(before photo, what string) {
	now := w.photo()
	assert.Equal(w.t, slices.Sorted(maps.Keys(before.objects)), slices.Sorted(maps.Keys(now.objects)), "%s writes nothing", what)
	assert.Equal(w.t, before.objects, now.objects)
	assert.True(w.t, before.meta.Equals(now.meta), "%s commits nothing", what)
}

// dryRun shows what would be done: replace when every finding is safe to repair, else delete.
func (w *ward) dryRun(before photo) *repair.Report {
	dry, err := w.run(nil)
	require.NoError(w.t, err)
	assert.False(w.t, dry.Applied)
	assert.Equal(w.t, w.RestoreRows, dry.RestoreRows)
	operation := table.OpReplace
	var found []string
	for _, f := range dry.Findings {
		found = append(found, f.Issue)
		if f.Repair != check.Safe {
			operation = table.OpDelete
		}
	}
	assert.Equal(w.t, string(operation), dry.Operation)
	slices.Sort(found)
	assert.Equal(w.t, w.options.Issues, slices.Compact(found))
	w.assertUnchanged(before, "a dry run")
	return dry
}

// assertAsks says that rows come back only when their number is confirmed.
func (w *ward) assertAsks(before photo, dry *repair.Report) {
	if !dry.NeedsConfirmation {
		assert.Zero(w.t, w.RestoreRows)
		return
	}
	for _, o := range []func(*repair.Options){applying, restoring(w.RestoreRows + 1)} {
		_, err := w.run(o)
		require.ErrorIs(w.t, err, repair.ErrConfirm)
		w.assertUnchanged(before, "a repair without the right number of rows")
	}
}

// consent applies what a dry run showed.
func (w *ward) consent(dry *repair.Report) func(*repair.Options) {
	if dry.NeedsConfirmation {
		return restoring(dry.RestoreRows)
	}
	return applying
}

// assertPast says that there is one new snapshot, and that everything from before is still there as it was. So what older
// snapshots say has not changed either.
func (w *ward) assertPast(before photo, report *repair.Report) {
	now := w.photo()
	for key, data := range before.objects {
		assert.True(w.t, now.objects[key] == data, "%s is as it was", key)
	}
	old, head := before.meta.SnapshotByName(w.Ref), now.meta.SnapshotByName(w.Ref)
	assert.Equal(w.t, head.SnapshotID, *report.SnapshotAfter)
	assert.Equal(w.t, old.SnapshotID, *head.ParentSnapshotID)
	assert.Equal(w.t, report.Operation, string(head.Summary.Operation))
	assert.Equal(w.t, texts(w.t, append(slices.Clone(before.meta.Snapshots()), *head)), texts(w.t, now.meta.Snapshots()))
	refs := maps.Collect(before.meta.Refs())
	for name, ref := range now.meta.Refs() {
		switch name {
		case w.Ref:
			assert.Equal(w.t, head.SnapshotID, ref.SnapshotID)
		case report.Tag:
			assert.Equal(w.t, table.TagRef, ref.SnapshotRefType)
			assert.Equal(w.t, old.SnapshotID, ref.SnapshotID)
		default:
			assert.Equal(w.t, refs[name], ref)
		}
	}
	assert.Len(w.t, maps.Collect(now.meta.Refs()), len(refs)+1, "the tag")
	w.assertSequence(head)
}

// texts are snapshots as JSON by id.
func texts(t *testing.T, snapshots []table.Snapshot) map[int64]string {
	out := map[int64]string{}
	for _, s := range snapshots {
		text, err := json.Marshal(s)
		require.NoError(t, err)
		out[s.SnapshotID] = string(text)
	}
	return out
}

// assertSequence says that what takes the place of other entries without changing an answer is not newer than they were.
func (w *ward) assertSequence(head *table.Snapshot) {
	if head.Summary.Operation != table.OpReplace {
		return
	}
	for _, e := range w.entries(head) {
		if e.SnapshotID() == head.SnapshotID {
			assert.Less(w.t, e.SequenceNum(), head.SequenceNumber, e.DataFile().FilePath())
		}
	}
}

// entries are the live delete entries of a snapshot, in manifests that a strict reader reads.
func (w *ward) entries(s *table.Snapshot) []iceberg.ManifestEntry {
	manifests, err := s.Manifests(w.Lake.IO())
	require.NoError(w.t, err)
	var out []iceberg.ManifestEntry
	for _, m := range manifests {
		if m.ManifestContent() != iceberg.ManifestContentDeletes {
			continue
		}
		for e, err := range m.Entries(w.Lake.IO(), true) {
			if err == nil { // a manifest may be what was damaged
				out = append(out, e)
			}
		}
	}
	return out
}

// assertRight reads the head with a reader that shares no code with the program.
func (w *ward) assertRight() {
	now := testlake.ReadSnapshot(w.t, w.Lake.IO(), w.Lake.Load().Metadata.SnapshotByName(w.Ref))
	want := map[string][][2]int64{}
	for path, positions := range w.Right {
		want[path] = testlake.Ranges(positions)
	}
	assert.Equal(w.t, want, now.Positions)
}

// assertHealthy says that delete files which are none of the repair's business are still listed as they were.
func (w *ward) assertHealthy(before photo) {
	was, is := w.listed(before.meta), w.listed(w.Lake.Load().Metadata)
	for _, location := range w.Healthy {
		assert.Equal(w.t, was[location], is[location], location)
		assert.NotEmpty(w.t, is[location], location)
	}
}

// assertLeft says that no Puffin file that had a vector which is gone has one that is live: when the snapshot before
// expires, it may be deleted.
func (w *ward) assertLeft(report *repair.Report) {
	is := w.listed(w.Lake.Load().Metadata)
	for _, r := range report.Removed {
		assert.Empty(w.t, is[r.Location], r.Location)
	}
}

// listed says what the live entries of the branch are, by location.
func (w *ward) listed(meta table.Metadata) map[string]string {
	out := map[string]string{}
	for _, e := range w.entries(meta.SnapshotByName(w.Ref)) {
		f := e.DataFile()
		of := ""
		if f.ReferencedDataFile() != nil {
			of = *f.ReferencedDataFile()
		}
		out[f.FilePath()] += fmt.Sprintf("snapshot %d, sequence number %d, %d records of %d bytes, of %q; ", e.SnapshotID(), e.SequenceNum(), f.Count(), f.FileSizeBytes(), of)
	}
	return out
}

// assertCopies says that what was damaged is kept.
func (w *ward) assertCopies(before photo, report *repair.Report) {
	require.NotEmpty(w.t, report.Copies)
	for _, c := range report.Copies {
		assert.True(w.t, strings.HasPrefix(c.Location, w.Lake.At+"/metadata/dvcompactor/repair/"), c.Location)
		data := w.Lake.Get(c.Location)
		assert.Len(w.t, data, int(c.Bytes))
		if was, is := before.objects[strings.TrimPrefix(c.Of, "s3://lake/")]; is {
			assert.True(w.t, bytes.Equal([]byte(was), data), "%s is a copy of %s", c.Location, c.Of)
		}
	}
	if _, is := before.objects[strings.TrimPrefix(w.Location, "s3://lake/")]; is {
		assert.True(w.t, slices.ContainsFunc(report.Copies, func(c repair.Copy) bool { return c.Of == w.Location }), "%s is copied", w.Location)
	}
}

// assertSound says that nothing is wrong with the table any more.
func (w *ward) assertSound() {
	for _, f := range w.check().Findings {
		assert.False(w.t, f.Damaged() || slices.Contains(w.options.Issues, f.Issue), "%s: %s", f.Issue, f.Detail)
	}
}

// assertDone says that there is nothing left to repair.
func (w *ward) assertDone() {
	before := w.photo()
	report, err := w.run(applying)
	require.NoError(w.t, err)
	assert.False(w.t, report.Applied)
	assert.Empty(w.t, report.Findings)
	w.assertUnchanged(before, "a second repair")
}
