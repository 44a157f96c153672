package parquetfile_test

import (
	"bytes"
	"context"
	"errors"
	"testing"

	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/file"
	"github.com/apache/arrow-go/v18/parquet/schema"
	"github.com/dvcompactor/dvcompactor/internal/parquetfile"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// object is an object in memory whose ranges fail from a number of reads on.
type object struct {
	*bytes.Reader
	healthy int
}

var errDown = errors.New("store is down")

func (o *object) ReadRange(_ context.Context, offset, length int64) ([]byte, error) {
	if o.healthy--; o.healthy < 0 {
		return nil, errDown
	}
	p := make([]byte, length)
	_, err := o.ReadAt(p, offset)
	return p, err
}

func (o *object) Size(context.Context) (int64, error) { return o.Reader.Size(), nil }

// empty returns a Parquet file with one column and no rows.
func empty(t *testing.T) []byte {
	root, err := schema.NewGroupNode("t", parquet.Repetitions.Required, schema.FieldList{schema.NewInt64Node("id", parquet.Repetitions.Required, 1)}, -1)
	require.NoError(t, err)
	var buf bytes.Buffer
	require.NoError(t, file.NewParquetWriter(&buf, root).Close())
	return buf.Bytes()
}

func TestAnErrorSaysWhetherTheStoreOrTheFileIsToBlame(t *testing.T) {
	t.Parallel()
	own := errors.New("an error of the caller")
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	fine := func(*parquetfile.Reader) error { return nil }
	readThenPanic := func(r *parquetfile.Reader) error {
		_, err := r.ReadAt(make([]byte, 10), 0)
		panic(err)
	}
	for name, c := range map[string]struct {
		ctx     context.Context
		healthy int
		use     func(*parquetfile.Reader) error
		want    error
		failed  bool
	}{
		"none":                       {t.Context(), 9, fine, nil, false},
		"of the caller":              {t.Context(), 9, func(*parquetfile.Reader) error { return own }, own, false},
		"a panic":                    {t.Context(), 9, readThenPanic, parquetfile.ErrFormat, false},
		"of the store":               {t.Context(), 0, fine, errDown, true},
		"of the store, then a panic": {t.Context(), 1, readThenPanic, errDown, true},
		"of the context":             {ended, 9, func(*parquetfile.Reader) error { return own }, context.Canceled, true},
	} {
		data := append(make([]byte, 100<<10), empty(t)...)
		r := parquetfile.NewReader(c.ctx, &object{bytes.NewReader(data), c.healthy}, parquetfile.Options{})
		err := r.Decode(func(*file.Reader) error { return c.use(r) })
		require.ErrorIs(t, err, c.want, name)
		assert.Equal(t, c.failed, r.Failed(), name)
	}
}
