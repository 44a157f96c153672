package maintenance_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"slices"
	"strconv"
	"testing"

	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/table"
	"github.com/dvcompactor/dvcompactor/internal/avroheader"
	"github.com/dvcompactor/dvcompactor/internal/testlake"
	"github.com/dvcompactor/dvcompactor/internal/testlake/forge"
	"github.com/dvcompactor/dvcompactor/maintenance"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestManyDeleteManifestsAreMergedWhenThereIsNothingElseToDo(t *testing.T) {
	t.Parallel()
	l := byRegion(t, 100, nil)
	before := liveDeletes(t, l)
	require.Len(t, before, 100)
	p := planOn(t, l, fast(maintenance.Compact))
	require.Len(t, p.Manifests, 1)
	assert.True(t, p.Work)
	assert.Equal(t, 100, p.Manifests[0].Manifests)
	assert.Equal(t, 1, p.Manifests[0].After)
	assert.Positive(t, p.Manifests[0].Bytes)
	assert.Equal(t, 100, p.Measure().DeleteManifests)

	r := runOn(t, l, fast(maintenance.Compact))
	assert.True(t, r.Committed)
	assert.Equal(t, [2]int{100, 1}, [2]int{r.Before.DeleteManifests, r.After.DeleteManifests})
	assert.Equal(t, before, liveDeletes(t, l))
	assert.Zero(t, r.DataFiles)
	head := l.Load().Metadata.SnapshotByName("main")
	assert.Equal(t, table.OpReplace, head.Summary.Operation)
	for key, want := range map[string]string{"manifests-created": "1", "manifests-replaced": "100", "manifests-kept": "1"} {
		assert.Equal(t, want, head.Summary.Properties[key], key)
	}
	assert.False(t, runOn(t, l, fast(maintenance.Compact)).Committed, "there is nothing left to merge")
}

func TestFewerDeleteManifestsThanTheTableSaysAreLeftAlone(t *testing.T) {
	t.Parallel()
	l := byRegion(t, 4, few())
	assert.False(t, runOn(t, l, fast(maintenance.Compact)).Committed)
	addVectors(l, 1, 1)
	l.Update(table.NewSetPropertiesUpdate(iceberg.Properties{"commit.manifest-merge.enabled": "false"}))
	p := planOn(t, l, maintenance.Options{Action: maintenance.Compact, TargetPuffinSize: 1})
	assert.False(t, p.Work, "the table does not want its manifests merged")
}

func TestManifestsOfATableInVersionTwoKeepTheirReferencedDataFiles(t *testing.T) {
	t.Parallel()
	l := judged(t, forge.Options{Properties: few()})
	data := l.DataFile("", 0, nil, 100)
	l.Commit(forge.Change{Add: forge.Files(data)})
	for i := range 6 {
		d := l.PositionDeletes(0, nil, forge.Record{Path: data.FilePath(), Pos: int64(i)}).ReferencedDataFile(data.FilePath()).
			SplitOffsets([]int64{4, 8}).ColumnSizes(map[int]int64{1: 5}).SortOrderID(0)
		// The library writes the field in version 3 only, other writers in version 2 too.
		l.Commit(forge.Change{Add: forge.Files(forge.Bounds(d, data.FilePath(), data.FilePath()).Build()), Version: 3, Bytes: func(_ iceberg.ManifestContent, data []byte) []byte {
			return bytes.Replace(data, []byte("format-version\x023"), []byte("format-version\x022"), 1)
		}})
	}
	before := liveDeletes(t, l)
	require.Contains(t, before[0], "of "+strconv.Quote(data.FilePath()))
	r := runOn(t, l, maintenance.Options{Action: maintenance.Migrate})
	assert.True(t, r.Committed)
	assert.False(t, r.UpgradedFormat)
	assert.Equal(t, before, liveDeletes(t, l))
	assert.Len(t, deleteManifests(t, l), 1)
}

func TestAnUpgradeThatFindsNothingToConvertOnlyMergesManifests(t *testing.T) {
	t.Parallel()
	l := forge.New(t, forge.Options{Properties: few()})
	l.Commit(forge.Change{Add: forge.Files(l.DataFile("", 0, nil, 100))})
	for range 6 {
		l.Commit(forge.Change{Add: forge.Files(l.DeleteBytes(0, nil, iceberg.ParquetFile, 1, []byte("no Parquet")).Build())})
	}
	r := runOn(t, l, fast(maintenance.Migrate))
	assert.True(t, r.Committed)
	assert.False(t, r.UpgradedFormat)
	assert.Equal(t, 2, l.Load().Metadata.Version())
	assert.Equal(t, 1, r.After.DeleteManifests)
	assert.False(t, runOn(t, l, fast(maintenance.Migrate)).Committed)
}

func TestManifestsWithEqualityDeletesAreLeftWhereTheyAre(t *testing.T) {
	t.Parallel()
	l := byRegion(t, 4, few())
	region := forge.Tuple{1000: int32(1)}
	for range 6 {
		l.Commit(forge.Change{Add: forge.Files(l.EqualityDeletes(0, region, 3))})
	}
	assert.False(t, planOn(t, l, fast(maintenance.Compact)).Work, "four manifests can be merged")
	addVectors(l, 2, 1)
	kept := map[string]bool{}
	for _, m := range deleteManifests(t, l)[4:10] {
		kept[m.FilePath()] = true
	}
	runOn(t, l, fast(maintenance.Compact))
	found := 0
	for _, m := range deleteManifests(t, l) {
		if kept[m.FilePath()] {
			found++
		}
	}
	assert.Equal(t, 6, found)
	assert.Len(t, deleteManifests(t, l), 7)
}

// withField adds a field without content to the entries of a manifest: one that the spec does not know.
func withField(t *testing.T, data []byte) []byte {
	r := bufio.NewReader(bytes.NewReader(data))
	header, err := avroheader.Read(r)
	require.NoError(t, err)
	var schema map[string]any
	require.NoError(t, json.Unmarshal(header.Meta["avro.schema"], &schema))
	for _, f := range schema["fields"].([]any) {
		if f := f.(map[string]any); f["name"] == "data_file" {
			record := f["type"].(map[string]any)
			record["fields"] = append(record["fields"].([]any), map[string]any{"name": "mine", "type": "null", "field-id": 90001})
		}
	}
	header.Meta["avro.schema"], err = json.Marshal(schema)
	require.NoError(t, err)
	rest, err := io.ReadAll(r)
	require.NoError(t, err)
	return slices.Concat(header.Encode(), rest)
}

func TestManifestsWithFieldsThatNobodyKnowsAreNotWrittenAnew(t *testing.T) {
	t.Parallel()
	l := byRegion(t, 5, few())
	l.OnCommit(nil) // the judge's reader fails on such a field
	odd := l.DataFile("", 0, forge.Tuple{1000: int32(0)}, 100)
	l.Commit(forge.Change{Add: forge.Files(odd)})
	l.Commit(forge.Change{Add: forge.Files(l.VectorEntry(l.DeletionVectors(forge.Vector{Data: odd, Positions: []int64{1}})[0]).ReferencedDataFile(odd.FilePath()).Build()),
		Bytes: func(_ iceberg.ManifestContent, data []byte) []byte { return withField(t, data) }})
	all := deleteManifests(t, l)
	last := all[len(all)-1].FilePath()
	require.True(t, bytes.Contains(l.Get(last), []byte("90001")))
	o := fast(maintenance.Compact)
	o.TargetPuffinSize = 1 // nothing is packed
	p := planOn(t, l, o)
	require.Len(t, p.Manifests, 1)
	assert.Equal(t, 5, p.Manifests[0].Manifests)
	assert.Equal(t, 2, runOn(t, l, o).After.DeleteManifests)
	assert.True(t, slices.ContainsFunc(deleteManifests(t, l), func(m iceberg.ManifestFile) bool { return m.FilePath() == last }))
}

func TestManifestsAreMergedUpToTheTargetSizeAndThenNeverAgain(t *testing.T) {
	t.Parallel()
	l := byRegion(t, 0, iceberg.Properties{"commit.manifest.min-count-to-merge": "2", "commit.manifest.target-size-bytes": "8000"})
	l.OnCommit(nil) // the judge reads the footer of a Puffin file again for each vector
	addVectors(l, 2000, 50)
	before := liveDeletes(t, l)
	p := planOn(t, l, fast(maintenance.Compact))
	require.Len(t, p.Manifests, 1)
	r := runOn(t, l, fast(maintenance.Compact))
	assert.LessOrEqual(t, r.After.DeleteManifests, p.Manifests[0].After)
	assert.Equal(t, before, liveDeletes(t, l))
	all := deleteManifests(t, l)
	require.Greater(t, len(all), 1)
	for _, m := range all[:len(all)-1] {
		assert.Less(t, m.Length(), int64(2*8000))
		assert.GreaterOrEqual(t, m.Length(), int64(8000))
	}
	for range 3 {
		assert.False(t, runOn(t, l, fast(maintenance.Compact)).Committed)
	}
}

func TestManifestsOfTwoSpecsAreMergedEachWithItsOwn(t *testing.T) {
	t.Parallel()
	l := byRegion(t, 6, few())
	next := iceberg.NewPartitionSpecID(1, iceberg.PartitionField{SourceIDs: []int{3}, FieldID: 1001, Name: "day", Transform: iceberg.IdentityTransform{}})
	l.Update(table.NewAddPartitionSpecUpdate(&next, false), table.NewSetDefaultSpecUpdate(1))
	var vectors []forge.Vector
	for i := range 6 {
		f := l.DataFile("", 1, forge.Tuple{1001: iceberg.Date(i)}, 100)
		l.Commit(forge.Change{Add: forge.Files(f)})
		vectors = append(vectors, forge.Vector{Data: f, Positions: []int64{int64(i)}})
	}
	for _, f := range l.DeletionVectors(vectors...) {
		l.Commit(forge.Change{Add: forge.Files(f)})
	}
	// The source column of the first spec goes: with the current schema its tuples would be written as null.
	left := slices.DeleteFunc(forge.Schema().Fields(), func(f iceberg.NestedField) bool { return f.ID == 2 })
	l.Update(table.NewAddSchemaUpdate(iceberg.NewSchema(1, left...)), table.NewSetCurrentSchemaUpdate(1))
	before := liveDeletes(t, l)
	o := fast(maintenance.Compact)
	o.TargetPuffinSize = 1
	assert.Len(t, planOn(t, l, o).Manifests, 2)
	runOn(t, l, o)
	assert.Equal(t, before, liveDeletes(t, l))
	assert.Len(t, deleteManifests(t, l), 2)
}

func TestAWriterThatAddsAndRemovesManifestsMeanwhileLosesNothingToAMerge(t *testing.T) {
	t.Parallel()
	l := byRegion(t, 8, few())
	removed := false
	cat := &testlake.Racing{Catalog: l.Catalog, Before: func(n int) {
		if n == 1 {
			addVectors(l, 2, 1)
			l.Commit(forge.Change{Remove: func(f iceberg.DataFile) bool {
				first := !removed && f.FileFormat() == iceberg.PuffinFile
				removed = removed || first
				return first
			}})
		}
	}}
	r, err := maintenance.Run(t.Context(), cat, forge.Ident(), fast(maintenance.Compact))
	require.NoError(t, err)
	assert.True(t, r.Committed)
	assert.Equal(t, 2, r.Attempts)
	assert.Len(t, liveDeletes(t, l), 9)
	assert.Len(t, deleteManifests(t, l), 1, "those that came meanwhile are merged too")
}

func TestAReviewedMergeIsStaleWhenItsManifestsAreOthers(t *testing.T) {
	t.Parallel()
	l := byRegion(t, 8, few())
	o := fast(maintenance.Compact)
	p := planOn(t, l, o)
	again := planOn(t, l, o)
	assert.Equal(t, p.Fingerprint, again.Fingerprint)
	addVectors(l, 1, 1)
	o.TargetPuffinSize = p.Settings.TargetPuffinSize
	_, err := maintenance.Apply(t.Context(), l.Catalog, forge.Ident(), p, o)
	require.ErrorIs(t, err, maintenance.ErrStale)
	r, err := maintenance.Apply(t.Context(), l.Catalog, forge.Ident(), planOn(t, l, o), o)
	require.NoError(t, err)
	assert.True(t, r.Committed)
}
