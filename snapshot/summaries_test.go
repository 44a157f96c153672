package snapshot

import (
	"bytes"
	"testing"

	"github.com/apache/iceberg-go"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A bound of the empty string that became null would hide the manifest from predicates.
func TestAPartitionBoundThatIsTheEmptyStringStaysOne(t *testing.T) {
	t.Parallel()
	schema := iceberg.NewSchema(0, iceberg.NestedField{ID: 1, Name: "name", Type: iceberg.PrimitiveTypes.String})
	spec := iceberg.NewPartitionSpec(iceberg.PartitionField{SourceIDs: []int{1}, FieldID: 1000, Name: "name", Transform: iceberg.IdentityTransform{}})
	id, seq := int64(7), int64(3)
	var manifest, list bytes.Buffer
	w, err := iceberg.NewManifestWriter(3, &manifest, spec, schema, id, iceberg.WithManifestWriterContent(iceberg.ManifestContentDeletes))
	require.NoError(t, err)
	for _, name := range []string{"", "x"} {
		b, err := iceberg.NewDataFileBuilder(spec, iceberg.EntryContentPosDeletes, name+".parquet", iceberg.ParquetFile, map[int]any{1000: name}, nil, nil, 5, 100)
		require.NoError(t, err)
		require.NoError(t, w.Add(iceberg.NewManifestEntry(iceberg.EntryStatusADDED, &id, &seq, nil, b.Build())))
	}
	require.NoError(t, w.Close())
	m, err := w.ToManifestFile("m.avro", int64(manifest.Len()))
	require.NoError(t, err)
	l, err := iceberg.NewManifestListWriterV3(&list, id, seq, 0, nil)
	require.NoError(t, err)
	require.NoError(t, l.AddManifests([]iceberg.ManifestFile{recordOf(m, m.Version())}))
	require.NoError(t, l.Close())
	read, err := iceberg.ReadManifestList(&list)
	require.NoError(t, err)
	summary := read[0].Partitions()[0]
	require.NotNil(t, summary.LowerBound)
	assert.Empty(t, *summary.LowerBound)
	assert.Equal(t, "x", string(*summary.UpperBound))
	assert.Equal(t, [3]int64{seq, seq, 2}, [3]int64{read[0].SequenceNum(), read[0].MinSequenceNum(), int64(read[0].AddedDataFiles())})
	assert.Equal(t, iceberg.ManifestContentDeletes, read[0].ManifestContent())
}
