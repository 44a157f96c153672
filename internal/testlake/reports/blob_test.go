package reports

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"maps"
	"slices"

	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/puffin"
	"github.com/apache/iceberg-go/table/dv"
	"github.com/stretchr/testify/require"
)

// blob is the blob of a deletion vector as iceberg-go writes it.
func (l *lab) blob(positions ...int64) []byte {
	b := dv.NewRoaringPositionBitmap()
	for _, p := range positions {
		b.Set(uint64(p))
	}
	data, err := dv.SerializeDV(b)
	require.NoError(l.t, err)
	return data
}

// resealed gives a blob that was changed a length and a checksum that fit.
func resealed(blob []byte) []byte {
	out := bytes.Clone(blob)
	body := out[4 : len(out)-4]
	binary.BigEndian.PutUint32(out, uint32(len(body)))
	binary.BigEndian.PutUint32(out[len(out)-4:], crc32.ChecksumIEEE(body))
	return out
}

// puffin writes a Puffin file around the blob of a deletion vector, whose footer says this of it beside the data file, and
// returns an entry that counts so many records.
func (l *lab) puffin(f iceberg.DataFile, blob []byte, cardinality string, records int64) *iceberg.DataFileBuilder {
	var buf bytes.Buffer
	w, err := puffin.NewWriter(&buf)
	require.NoError(l.t, err)
	properties := map[string]string{"referenced-data-file": f.FilePath()}
	if cardinality != "" {
		properties["cardinality"] = cardinality
	}
	m, err := w.AddBlob(puffin.BlobMetadataInput{Type: puffin.BlobTypeDeletionVector, SnapshotID: -1, SequenceNumber: -1, Fields: []int32{2147483645}, Properties: properties}, blob)
	require.NoError(l.t, err)
	require.NoError(l.t, w.Finish())
	return l.blobEntry(f, buf.Bytes(), m.Offset, m.Length, records)
}

// blobEntry writes an object and describes a range of it as a data file's deletion vector.
func (l *lab) blobEntry(f iceberg.DataFile, object []byte, offset, length, records int64) *iceberg.DataFileBuilder {
	location := fmt.Sprintf("%s/data/own%d.puffin", l.At, len(l.Keys()))
	l.Put(location, object)
	b := l.Entry(int(f.SpecID()), f.Partition(), iceberg.EntryContentPosDeletes, location, iceberg.PuffinFile, records, int64(len(object)))
	return b.ReferencedDataFile(f.FilePath()).ContentOffset(offset).ContentSizeInBytes(length)
}

// liveDeletes are the live delete entries of main by path.
func (l *lab) liveDeletes() map[string][]iceberg.ManifestEntry {
	out := map[string][]iceberg.ManifestEntry{}
	manifests, err := l.Load().Metadata.SnapshotByName("main").Manifests(l.io)
	require.NoError(l.t, err)
	for _, m := range manifests {
		for e, err := range m.Entries(l.io, true) {
			require.NoError(l.t, err)
			if e.DataFile().ContentType() != iceberg.EntryContentData {
				out[e.DataFile().FilePath()] = append(out[e.DataFile().FilePath()], e)
			}
		}
	}
	return out
}

func (l *lab) livePaths() []string { return slices.Sorted(maps.Keys(l.liveDeletes())) }
