package faults_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gocloud.dev/blob/memblob"

	"github.com/dvcompactor/dvcompactor/internal/testlake/faults"
)

func TestACrashIsTheEndOfEverything(t *testing.T) {
	t.Parallel()
	for fault, stored := range map[string]string{"crash": "", "crash-after": "abcd", "torn": "ab"} {
		t.Run(fault, func(t *testing.T) {
			t.Parallel()
			s := faults.New(t, "write #2: "+fault)
			base := memblob.OpenBucket(nil)
			b := s.Bucket(base)
			t.Cleanup(func() { require.NoError(t, b.Close()) })
			told := 0
			s.OnCrash(func() { told++ })
			require.NoError(t, b.WriteAll(t.Context(), "first", []byte("1"), nil))
			require.ErrorIs(t, b.WriteAll(t.Context(), "second", []byte("abcd"), nil), faults.ErrCrashed)
			require.True(t, s.Crashed())

			_, getErr := b.ReadAll(t.Context(), "first")
			_, headErr := b.Attributes(t.Context(), "first")
			_, listErr := b.List(nil).Next(t.Context())
			for _, err := range []error{getErr, headErr, listErr, b.Delete(t.Context(), "first"), b.WriteAll(t.Context(), "third", nil, nil)} {
				assert.ErrorIs(t, err, faults.ErrCrashed)
			}
			assert.Equal(t, 1, told)
			assert.Equal(t, 2, s.Count("write"), "what came later does not count")
			got, err := base.ReadAll(t.Context(), "second")
			assert.Equal(t, stored, string(got))
			assert.Equal(t, stored == "", err != nil)
			there, err := base.Exists(t.Context(), "first")
			assert.True(t, there && err == nil)
		})
	}
}

func TestEveryCallIsCountedByItsName(t *testing.T) {
	t.Parallel()
	s := faults.New(t, "")
	b := s.Bucket(memblob.OpenBucket(nil))
	t.Cleanup(func() { require.NoError(t, b.Close()) })
	ctx := t.Context()
	require.NoError(t, b.WriteAll(ctx, "a", []byte("abc"), nil))
	_, err := b.ReadAll(ctx, "a")
	require.NoError(t, err)
	r, err := b.NewRangeReader(ctx, "a", 1, 1, nil)
	require.NoError(t, errors.Join(err, r.Close()))
	_, err = b.Attributes(ctx, "a")
	require.NoError(t, err)
	_, err = b.List(nil).Next(ctx)
	require.NoError(t, errors.Join(err, b.Delete(ctx, "a")))
	for op, want := range map[string]int{"put": 1, "get": 1, "get-range": 1, "head": 1, "list": 1, "delete": 1, "load": 0, "commit": 0, "write": 2, "any": 6} {
		assert.Equal(t, want, s.Count(op), op)
	}
}
