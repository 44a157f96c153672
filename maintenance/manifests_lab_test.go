package maintenance_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/table"
	"github.com/dvcompactor/dvcompactor/internal/testlake/forge"
	"github.com/dvcompactor/dvcompactor/internal/testlake/judge"
	"github.com/dvcompactor/dvcompactor/maintenance"
	"github.com/dvcompactor/dvcompactor/snapshot"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// few is the property of a table whose delete manifests are merged when there are five small ones of a spec.
func few() iceberg.Properties {
	return iceberg.Properties{"commit.manifest.min-count-to-merge": "5"}
}

// judged makes a table in which every snapshot of the program is judged.
func judged(t *testing.T, o forge.Options) *forge.Lake {
	l := forge.New(t, o)
	l.OnCommit(func(before, after table.Metadata) {
		if head := after.SnapshotByName("main"); head != nil && head.Summary.Properties["dvcompactor.plan-id"] != "" {
			assert.NoError(t, judge.Commit(t, l.IO(), before, after))
		}
	})
	return l
}

// byRegion makes a table, by region, in which n deletion vectors of one Puffin file are in a manifest each: there is
// nothing to gain but fewer manifests.
func byRegion(t *testing.T, n int, properties iceberg.Properties) *forge.Lake {
	spec := iceberg.NewPartitionSpec(iceberg.PartitionField{SourceIDs: []int{2}, FieldID: 1000, Name: "region", Transform: iceberg.IdentityTransform{}})
	l := judged(t, forge.Options{Version: 3, Spec: &spec, Properties: properties})
	if n > 0 {
		addVectors(l, n, 1)
	}
	return l
}

// addVectors commits n new data files, then a deletion vector for each, all in one Puffin file, so many with each commit.
func addVectors(l *forge.Lake, n, atOnce int) {
	var data []iceberg.DataFile
	var vectors []forge.Vector
	for i := range n {
		f := l.DataFile("", 0, forge.Tuple{1000: int32(i % 3)}, 100)
		data = append(data, f)
		vectors = append(vectors, forge.Vector{Data: f, Positions: []int64{int64(i)}})
	}
	l.Commit(forge.Change{Add: forge.Files(data...)})
	for files := range slices.Chunk(l.DeletionVectors(vectors...), atOnce) {
		l.Commit(forge.Change{Add: forge.Files(files...)})
	}
}

// liveDeletes lists the live delete entries with everything that they say and inherit.
func liveDeletes(t *testing.T, l *forge.Lake) []string {
	var out []string
	for _, m := range deleteManifests(t, l) {
		for e, err := range snapshot.WholeEntries(t.Context(), l.IO(), m) {
			require.NoError(t, err)
			text, err := snapshot.FileText(e.DataFile())
			require.NoError(t, err)
			out = append(out, fmt.Sprintf("%s snapshot %d seq %d/%d", text, e.SnapshotID(), e.SequenceNum(), *e.FileSequenceNum()))
		}
	}
	slices.Sort(out)
	return out
}

// deleteManifests returns the delete manifests with live entries.
func deleteManifests(t *testing.T, l *forge.Lake) []iceberg.ManifestFile {
	list, err := l.Load().Metadata.SnapshotByName("main").Manifests(l.IO())
	require.NoError(t, err)
	return slices.DeleteFunc(list, func(m iceberg.ManifestFile) bool {
		return m.ManifestContent() == iceberg.ManifestContentData || !m.HasAddedFiles() && !m.HasExistingFiles()
	})
}

func runOn(t *testing.T, l *forge.Lake, o maintenance.Options) *maintenance.Report {
	t.Helper()
	r, err := maintenance.Run(t.Context(), l.Catalog, forge.Ident(), o)
	require.NoError(t, err)
	return r
}

func planOn(t *testing.T, l *forge.Lake, o maintenance.Options) *maintenance.Plan {
	t.Helper()
	p, err := maintenance.MakePlan(t.Context(), l.Load(), o)
	require.NoError(t, err)
	return p
}
