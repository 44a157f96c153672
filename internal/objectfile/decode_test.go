package objectfile_test

import (
	"bytes"
	"context"
	"errors"
	"testing"

	"github.com/dvcompactor/dvcompactor/internal/objectfile"
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

func TestAnErrorSaysWhetherTheStoreOrTheFileIsToBlame(t *testing.T) {
	t.Parallel()
	own := errors.New("an error of the caller")
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	fine := func(*objectfile.Reader) error { return nil }
	readThenPanic := func(r *objectfile.Reader) error {
		_, err := r.ReadAt(make([]byte, 10), 0)
		panic(err)
	}
	for name, c := range map[string]struct {
		ctx     context.Context
		healthy int
		use     func(*objectfile.Reader) error
		want    error
		failed  bool
	}{
		"none":                       {t.Context(), 9, fine, nil, false},
		"of the caller":              {t.Context(), 9, func(*objectfile.Reader) error { return own }, own, false},
		"a panic":                    {t.Context(), 9, readThenPanic, objectfile.ErrFormat, false},
		"of the store":               {t.Context(), 0, fine, errDown, true},
		"of the store, then a panic": {t.Context(), 1, readThenPanic, errDown, true},
		"of the context":             {ended, 9, func(*objectfile.Reader) error { return own }, context.Canceled, true},
	} {
		data := append(make([]byte, 100<<10), "end"...)
		r := objectfile.NewReader(c.ctx, &object{bytes.NewReader(data), c.healthy}, objectfile.Options{Ends: func(tail []byte) bool { return bytes.HasSuffix(tail, []byte("end")) }})
		err := r.Decode(func() error { return c.use(r) })
		require.ErrorIs(t, err, c.want, name)
		assert.Equal(t, c.failed, r.Failed(), name)
	}
}
