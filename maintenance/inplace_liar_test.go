package maintenance_test

import (
	"strings"
	"testing"

	"github.com/dvcompactor/dvcompactor/internal/lakewriter"
	"github.com/dvcompactor/dvcompactor/internal/testlake/faults"
	"github.com/dvcompactor/dvcompactor/internal/testlake/forge"
	"github.com/dvcompactor/dvcompactor/maintenance"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// lies are what a store keeps of a position delete file instead of what it was given.
func lies(t *testing.T, l *v2Table) map[string]func([]byte) []byte {
	records := func(positions map[int][]int64) func([]byte) []byte {
		return func([]byte) []byte {
			data, err := lakewriter.EncodePositionDeletes(l.records(positions))
			assert.NoError(t, err)
			return data
		}
	}
	return map[string]func([]byte) []byte{
		"another byte":                   func(data []byte) []byte { data[len(data)/3] ^= 1; return data },
		"another byte of the statistics": func(data []byte) []byte { data[len(data)-30] ^= 1; return data },
		"half of it":                     func(data []byte) []byte { return data[:len(data)/2] },
		"nothing":                        func([]byte) []byte { return nil },
		"one byte more":                  func(data []byte) []byte { return append(data, 0) },
		"a record fewer":                 records(map[int][]int64{0: {0, 1, 2}, 1: {0, 1}}),
		"a record of another data file":  records(map[int][]int64{0: {0, 1, 2}, 1: {0, 1, 2}, 2: {1}}),
		"the file of another run":        records(map[int][]int64{2: {7}}),
	}
}

// What a store says that it has stored and what it gives back are two things: nothing is committed before the program has
// read the latter.
func TestAStoreThatKeepsAnotherPositionDeleteFileThanItWasGivenEndsTheRunBeforeTheCommit(t *testing.T) {
	t.Parallel()
	for _, by := range []maintenance.Granularity{maintenance.ByFile, maintenance.ByPartition} {
		l := newV2Table(t, 3, nil)
		for i := range int64(3) {
			l.deleteOf(0, i)
			l.deleteOf(1, i)
		}
		before, deleted, head := l.Keys(), l.deleted(), l.Load().Metadata.CurrentSnapshot().SnapshotID
		for name, lie := range lies(t, l) {
			script := faults.New(t, "")
			script.OnPut(func(key string, data []byte) []byte {
				if strings.HasSuffix(key, "-deletes.parquet") {
					return lie(data)
				}
				return data
			})
			r, err := maintenance.Run(t.Context(), l.Through(script.Bucket(l.Bucket)), forge.Ident(), inPlace(maintenance.InPlace{Granularity: by}))
			require.ErrorIs(t, err, maintenance.ErrProof, name)
			assert.False(t, r.Committed, name)
			assert.Equal(t, before, l.Keys(), "%s: nothing is left behind", name)
			assert.Equal(t, head, l.Load().Metadata.CurrentSnapshot().SnapshotID, name)
			assert.Equal(t, deleted, l.deleted(), name)
		}
		assert.True(t, l.compact(inPlace(maintenance.InPlace{Granularity: by})).Committed, "on a store that does not lie")
	}
}
