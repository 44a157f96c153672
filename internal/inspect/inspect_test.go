package inspect

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"runtime"
	"strings"
	"testing"

	"github.com/dvcompactor/dvcompactor/internal/cli/golden"
	"github.com/dvcompactor/dvcompactor/internal/term"
	"github.com/dvcompactor/dvcompactor/puffin"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// object is bytes in memory with a location.
type object struct {
	*puffin.ReaderAt
	err error
}

func newObject(data []byte) object { return object{ReaderAt: puffin.NewBytesReader(data)} }

func (o object) Location() string { return "s3://lake/x.puffin" }
func (o object) Size(ctx context.Context) (int64, error) {
	if o.err != nil {
		return 0, o.err
	}
	return o.ReaderAt.Size(ctx)
}

func bitmap(t *testing.T, ranges ...[2]int64) *puffin.Bitmap {
	b := puffin.NewBitmap()
	for _, r := range ranges {
		require.NoError(t, b.AddRange(r[0], r[1]))
	}
	return b
}

// file makes a Puffin file of deletion vectors and one blob of another type.
func file(t *testing.T, vectors ...*puffin.Bitmap) []byte {
	var out bytes.Buffer
	w := puffin.NewWriter(&out, puffin.WriterOptions{CreatedBy: "test 1"})
	for i, v := range vectors {
		_, err := w.AddDeletionVector("s3://lake/data/"+string(rune('a'+i))+".parquet", v)
		require.NoError(t, err)
	}
	_, err := w.AddBlob(puffin.Blob{Type: puffin.BlobTypeThetaSketch, Fields: []int32{1}, SnapshotID: 5, SequenceNumber: 6, Data: []byte("sketch"),
		Properties: map[string]string{puffin.PropertyNDV: "42"}})
	require.NoError(t, err)
	_, err = w.Finish(puffin.FinishOptions{})
	require.NoError(t, err)
	return out.Bytes()
}

func fileText(t *testing.T, data []byte, opts TextOptions) (string, bool) {
	f, err := ReadFile(t.Context(), newObject(data))
	require.NoError(t, err)
	var out strings.Builder
	ok, err := f.WriteText(t.Context(), &out, newObject(data), opts)
	require.NoError(t, err)
	return out.String(), ok
}

func fileJSON(t *testing.T, data []byte) string {
	f, err := ReadFile(t.Context(), newObject(data))
	require.NoError(t, err)
	var out strings.Builder
	require.NoError(t, f.WriteJSON(&out))
	return out.String()
}

func TestFiles(t *testing.T) {
	good := file(t, bitmap(t, [2]int64{0, 5}, [2]int64{9, 9}, [2]int64{1 << 33, 1<<33 + 7}), bitmap(t, [2]int64{3, 3}))
	damagedVector := bytes.Clone(good)
	damagedVector[20] ^= 1
	damagedFooter := bytes.Clone(good)
	damagedFooter[len(good)-1] ^= 1
	flags := bytes.Clone(good)
	flags[len(good)-8] |= 2
	for _, c := range []struct {
		name   string
		data   []byte
		status Status
		ok     bool
	}{
		{"good", good, OK, true},
		{"damaged-vector", damagedVector, OK, false},
		{"damaged-footer", damagedFooter, Corrupt, false},
		{"unknown-flags", flags, Unsupported, false},
		{"empty", nil, Corrupt, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			text, ok := fileText(t, c.data, TextOptions{})
			assert.Equal(t, c.ok, ok)
			golden.Assert(t, "file-"+c.name+".txt", text)
			golden.Assert(t, "file-"+c.name+".json", fileJSON(t, c.data))
			f, err := ReadFile(t.Context(), newObject(c.data))
			require.NoError(t, err)
			assert.Equal(t, c.status, f.Footer.Status)
		})
	}
}

func TestLongListsAreCutUnlessAllIsAskedFor(t *testing.T) {
	b := puffin.NewBitmap()
	for i := range int64(1000) {
		require.NoError(t, b.Add(3*i))
	}
	data := file(t, b)
	short, _ := fileText(t, data, TextOptions{Bytes: true})
	golden.Assert(t, "file-cut.txt", short)
	long, _ := fileText(t, data, TextOptions{Bytes: true, All: true})
	assert.Contains(t, long, " 2997\n")
	assert.NotContains(t, long, "more")
	plain, _ := fileText(t, data, TextOptions{})
	assert.NotContains(t, plain, "00000000", "bytes of a larger file only when asked for")
}

func TestAFailureToReadIsNoVerdict(t *testing.T) {
	o := newObject(file(t))
	o.err = fs.ErrNotExist
	_, err := ReadFile(t.Context(), o)
	assert.ErrorIs(t, err, fs.ErrNotExist)

	lost := errors.New("connection reset")
	_, err = ReadVector(t.Context(), failing{lost}, puffin.DeletionVectorRange{Offset: 4, Length: 100})
	assert.ErrorIs(t, err, lost)
}

type failing struct{ err error }

func (f failing) ReadRange(context.Context, int64, int64) ([]byte, error) { return nil, f.err }

func vectorJSON(t *testing.T, data []byte, rng puffin.DeletionVectorRange) (string, *Vector) {
	v, err := ReadVector(t.Context(), newObject(data), rng)
	require.NoError(t, err)
	var out strings.Builder
	require.NoError(t, v.WriteJSON(&out))
	return out.String(), v
}

func TestVectors(t *testing.T) {
	blob, err := puffin.EncodeDeletionVector(bitmap(t, [2]int64{0, 5}, [2]int64{9, 9}))
	require.NoError(t, err)
	data := append([]byte("PFA1"), blob...)
	n := int64(len(blob))
	for _, c := range []struct {
		name string
		rng  puffin.DeletionVectorRange
		ok   bool
	}{
		{"good", puffin.DeletionVectorRange{Offset: 4, Length: n, RecordCount: 7}, true},
		{"no-record-count", puffin.DeletionVectorRange{Offset: 4, Length: n, RecordCount: puffin.UnknownRecordCount}, true},
		{"wrong-record-count", puffin.DeletionVectorRange{Offset: 4, Length: n, RecordCount: 8}, false},
		{"shifted", puffin.DeletionVectorRange{Offset: 3, Length: n, RecordCount: 7}, false},
		{"negative-offset", puffin.DeletionVectorRange{Offset: -4, Length: n, RecordCount: 7}, false},
		{"negative-length", puffin.DeletionVectorRange{Offset: 4, Length: -1, RecordCount: 7}, false},
		{"overflow", puffin.DeletionVectorRange{Offset: 1<<63 - 1, Length: 1 << 30, RecordCount: 7}, false},
		{"beyond-the-end", puffin.DeletionVectorRange{Offset: 4, Length: 1 << 30, RecordCount: 7}, false},
		{"far-beyond-the-end", puffin.DeletionVectorRange{Offset: 1 << 40, Length: n, RecordCount: 7}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, v := vectorJSON(t, data, c.rng)
			assert.Equal(t, c.ok, v.OK())
			assert.True(t, json.Valid([]byte(got)))
			golden.Assert(t, "vector-"+c.name+".json", got)
			var out strings.Builder
			require.NoError(t, v.WriteText(t.Context(), &out, newObject(data), c.rng, TextOptions{}))
			golden.Assert(t, "vector-"+c.name+".txt", out.String())
		})
	}
}

func TestAnEmptyVectorHasNoRanges(t *testing.T) {
	blob, err := puffin.EncodeDeletionVector(puffin.NewBitmap())
	require.NoError(t, err)
	got, _ := vectorJSON(t, blob, puffin.DeletionVectorRange{Length: int64(len(blob))})
	assert.Equal(t, `{"dv": {"status": "ok", "error": null, "cardinality": 0, "ranges": []}}`+"\n", got)
}

// A run over several keys is one range, and neither it nor a million ranges may cost the memory of their positions.
func TestRangesOfBigVectorsTakeLittleMemory(t *testing.T) {
	const last = 3<<32 - 1
	blob, err := puffin.EncodeDeletionVector(bitmap(t, [2]int64{7, last}))
	require.NoError(t, err)
	got, _ := vectorJSON(t, blob, puffin.DeletionVectorRange{Length: int64(len(blob)), RecordCount: last - 6})
	assert.Contains(t, got, `"ranges": [[7, 12884901887]]`)

	b := puffin.NewBitmap()
	for i := range int64(1 << 20) {
		require.NoError(t, b.Add(2*i))
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	var n counter
	require.NoError(t, (&Vector{Verdict: Verdict{Status: OK}, bitmap: b}).WriteJSON(&n))
	runtime.ReadMemStats(&after)
	assert.Greater(t, int64(n), int64(10<<20))
	assert.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(1<<20))
}

type counter int64

func (c *counter) Write(b []byte) (int, error) {
	*c += counter(len(b))
	return len(b), nil
}

// small fails to write after some bytes.
type small int

func (s *small) Write(b []byte) (int, error) {
	if len(b) > int(*s) {
		return 0, errors.New("broken pipe")
	}
	*s -= small(len(b))
	return len(b), nil
}

func TestAFailureToWriteIsReturned(t *testing.T) {
	data := file(t, bitmap(t, [2]int64{0, 5}))
	o := newObject(data)
	f, err := ReadFile(t.Context(), o)
	require.NoError(t, err)
	for n := range 200 {
		w := small(n)
		_, err := f.WriteText(t.Context(), &w, o, TextOptions{Style: term.NewStyle(true)})
		require.Error(t, err)
		w = small(n)
		require.Error(t, f.WriteJSON(&w))
	}
	w := small(10)
	v, err := ReadVector(t.Context(), o, f.blobs[0].DeletionVectorRange(""))
	require.NoError(t, err)
	require.Error(t, v.WriteJSON(&w))
}
