package snapshot

import (
	"bufio"
	"bytes"
	"io"
	"slices"
	"testing"

	"github.com/apache/iceberg-go"
	iceio "github.com/apache/iceberg-go/io"
	"github.com/dvcompactor/dvcompactor/internal/avroheader"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// memoryIO holds files by name.
func memoryIO(t testing.TB, files map[string][]byte) iceio.IO {
	fs := iceio.NewMemFS()
	for name, data := range files {
		require.NoError(t, fs.WriteFile(name, data))
	}
	return fs
}

// deleteManifest writes a manifest with one deletion vector of each path.
func deleteManifest(t testing.TB, location string, paths ...string) (iceberg.ManifestFile, []byte) {
	var buf bytes.Buffer
	spec, schema := *iceberg.UnpartitionedSpec, iceberg.NewSchema(0, iceberg.NestedField{ID: 1, Name: "id", Type: iceberg.PrimitiveTypes.Int64})
	id, seq := int64(7), int64(3)
	w, err := iceberg.NewManifestWriter(3, &buf, spec, schema, id, iceberg.WithManifestWriterContent(iceberg.ManifestContentDeletes))
	require.NoError(t, err)
	for _, p := range paths {
		b, err := iceberg.NewDataFileBuilder(spec, iceberg.EntryContentPosDeletes, "p.puffin", iceberg.PuffinFile, nil, nil, nil, 5, 100)
		require.NoError(t, err)
		f := b.ReferencedDataFile(p).ContentOffset(4).ContentSizeInBytes(40).Build()
		require.NoError(t, w.Add(iceberg.NewManifestEntry(iceberg.EntryStatusADDED, &id, &seq, nil, f)))
	}
	require.NoError(t, w.Close())
	m, err := w.ToManifestFile(location, int64(buf.Len()))
	require.NoError(t, err)
	return m, buf.Bytes()
}

// lie rewrites the content in a manifest's header.
func lie(t testing.TB, manifest []byte, content string) []byte {
	r := bufio.NewReader(bytes.NewReader(manifest))
	h, err := avroheader.Read(r)
	require.NoError(t, err)
	require.Equal(t, "deletes", string(h.Meta["content"]))
	h.Meta["content"] = []byte(content)
	rest, err := io.ReadAll(r)
	require.NoError(t, err)
	return slices.Concat(h.Encode(), rest)
}

func TestADeleteManifestWhoseHeaderSaysDataIsReadAsTheManifestListSays(t *testing.T) {
	t.Parallel()
	m, data := deleteManifest(t, "mem://m.avro", "a", "b")
	lying := lie(t, data, "data")
	_, err := iceberg.ReadManifest(m, bytes.NewReader(lying), true)
	require.Error(t, err, "iceberg-go refuses it")
	fs := memoryIO(t, map[string][]byte{"mem://m.avro": lying})
	var got []string
	for e, err := range Entries(t.Context(), fs, m) {
		require.NoError(t, err)
		got = append(got, *e.DataFile().ReferencedDataFile())
	}
	assert.Equal(t, []string{"a", "b"}, got)
}

func TestAHeaderThatIsRightIsPassedOnAsItIs(t *testing.T) {
	t.Parallel()
	m, data := deleteManifest(t, "mem://m.avro", "a")
	fs := memoryIO(t, map[string][]byte{"mem://m.avro": data})
	require.NoError(t, withManifest(fs, m, func(r io.Reader) error {
		got, err := io.ReadAll(r)
		assert.Equal(t, data, got)
		return err
	}))
}
