package check_test

import (
	"fmt"
	"testing"

	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/table"
	"github.com/dvcompactor/dvcompactor/internal/testlake/forge"
	"github.com/dvcompactor/dvcompactor/maintenance/check"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// hints checks a table and returns the hints of its findings.
func hints(t *testing.T, l *lab, o check.Options) []string {
	r := l.check(o)
	require.NotEmpty(t, r.Findings)
	var out []string
	for _, f := range r.Findings {
		out = append(out, f.Hint)
	}
	return out
}

// withoutOffset puts a Puffin file with a vector for data file i whose entry lacks its offset.
func (l *lab) withoutOffset(i int) iceberg.DataFile {
	f := one(l, 1)[0]
	return l.Entry(0, nil, iceberg.EntryContentPosDeletes, f.FilePath(), iceberg.PuffinFile, 1, f.FileSizeBytes()).ReferencedDataFile(l.path(i)).Build()
}

func TestAHintNamesTheCommandThatMends(t *testing.T) {
	t.Parallel()
	l := newLab(t, 3)
	l.add(l.withoutOffset(0))
	const command = "dvcompactor repair -c FILE --issue dv-fields-missing memory.db.t shows what it would do, --apply does it"
	assert.Contains(t, hints(t, l, check.Options{})[0], command)
}

func TestAHintNamesTheFileOnlyAmongSeveral(t *testing.T) {
	t.Parallel()
	l := newLab(t, 3)
	files := []iceberg.DataFile{l.withoutOffset(0), l.withoutOffset(1)}
	l.add(files...)
	for i, hint := range hints(t, l, check.Options{}) {
		assert.Contains(t, hint, "--issue dv-fields-missing --file "+files[i].FilePath()+" memory.db.t")
	}
	l = newLab(t, 3)
	l.add(l.put(container{parts: []part{l.vector(0, 1), l.vector(1, 1)}})...)
	l.Commit(forge.Change{Remove: func(f iceberg.DataFile) bool { return f.ContentType() == iceberg.EntryContentData }})
	for i, hint := range hints(t, l, check.Options{}) {
		assert.Contains(t, hint, fmt.Sprintf("--issue dv-dangling --file s3://lake/t/data/p001.puffin#%d memory.db.t", 4+i*42))
		assert.Contains(t, hint, "dvcompactor compact -c FILE memory.db.t drops it")
	}
}

func TestAHintAboutLostDeletesNamesTheirDataFiles(t *testing.T) {
	t.Parallel()
	l := after(2, shared, drops)(t)
	for i, hint := range hints(t, l, everything()) {
		assert.Contains(t, hint, "--issue delete-dropped --file "+l.path(i)+" memory.db.t")
	}
}

func TestAHintNamesTheBranch(t *testing.T) {
	t.Parallel()
	l := newLab(t, 3)
	l.add(l.withoutOffset(0))
	l.Update(table.NewSetSnapshotRefUpdate("my branch", l.Load().Metadata.CurrentSnapshot().SnapshotID, table.BranchRef, -1, -1, -1))
	assert.Contains(t, hints(t, l, check.Options{Ref: "my branch"})[0], "--issue dv-fields-missing --ref 'my branch' memory.db.t")
}

func TestAHintAsksForTheRowsThatComeBack(t *testing.T) {
	t.Parallel()
	l := newLab(t, 3)
	f := one(l, 1)
	l.add(f...)
	require.NoError(t, l.Remove(f[0].FilePath()))
	assert.Contains(t, hints(t, l, everything())[0], "shows what it would do and how many deleted rows come back, --apply --restore-rows with that number does it")
}

func TestAHintNamesNoRepairWhereThereIsNone(t *testing.T) {
	t.Parallel()
	l := newLab(t, 2)
	l.Commit(forge.Change{Remove: func(iceberg.DataFile) bool { return true }, Add: forge.Files(l.DataFile("", 0, nil, rows), l.EqualityDeletes(0, nil, 1))})
	r := l.check(check.Options{})
	require.Equal(t, []string{"delete-aged"}, issues(r))
	assert.Equal(t, check.None, r.Findings[0].Repair, "equality deletes are never removed")
	assert.NotContains(t, r.Findings[0].Hint, "dvcompactor repair")
}

func TestAHintIsSafeToPaste(t *testing.T) {
	t.Parallel()
	l := newLab(t, 3)
	for _, name := range []string{"a b", "$(rm -rf x)", "it's"} {
		f := l.DataFile(l.At+"/data/"+name+".parquet", 0, nil, rows)
		l.add(f)
		l.data = append(l.data, f)
	}
	var old []iceberg.DataFile
	for i := 3; i < len(l.data); i++ {
		p := l.vector(i, 1)
		location, size, at := l.puffin(container{parts: []part{p}})
		l.Put(location+" ;x", l.Get(location))
		old = append(old, l.entry(i, location+" ;x", size, at[0], p).Build())
	}
	l.add(old...)
	l.replace(old)
	for _, hint := range hints(t, l, check.Options{}) {
		assert.Contains(t, hint, " --file 's3://lake/t/data/p00")
		assert.Contains(t, hint, ";x#4' memory.db.t")
	}
}
