package snapshot

import (
	"io"
	"strings"
	"testing"

	iceio "github.com/apache/iceberg-go/io"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// countingIO counts how often files are opened.
type countingIO struct {
	iceio.WriteFileIO
	opened map[string]int
}

func (c *countingIO) Open(name string) (iceio.File, error) {
	c.opened[name]++
	return c.WriteFileIO.Open(name)
}

func newCountingIO(t *testing.T, files map[string]string) *countingIO {
	fs := iceio.NewMemFS()
	for name, text := range files {
		require.NoError(t, fs.WriteFile(name, []byte(text)))
	}
	return &countingIO{WriteFileIO: fs, opened: map[string]int{}}
}

func readThrough(t *testing.T, fs iceio.IO, name string) string {
	f, err := fs.Open(name)
	require.NoError(t, err)
	data, err := io.ReadAll(f)
	require.NoError(t, err)
	require.NoError(t, f.Close())
	return string(data)
}

func TestACacheOpensAFileOnceAndForgetsTheOldestThatDoNotFit(t *testing.T) {
	t.Parallel()
	inner := newCountingIO(t, map[string]string{"mem://a": "aaaa", "mem://b": "bbbb", "mem://large": strings.Repeat("x", 11)})
	c := NewCache(10)
	fs := c.Through(inner)
	for range 2 {
		assert.Equal(t, "aaaa", readThrough(t, fs, "mem://a"))
		assert.Equal(t, "bbbb", readThrough(t, c.Through(inner), "mem://b"))
		assert.Equal(t, strings.Repeat("x", 11), readThrough(t, fs, "mem://large"))
	}
	assert.Equal(t, map[string]int{"mem://a": 1, "mem://b": 1, "mem://large": 2}, inner.opened)
	require.NoError(t, inner.WriteFile("mem://c", []byte("cccc")))
	readThrough(t, fs, "mem://c")
	readThrough(t, fs, "mem://b")
	readThrough(t, fs, "mem://a")
	assert.Equal(t, map[string]int{"mem://a": 2, "mem://b": 1, "mem://c": 1, "mem://large": 2}, inner.opened)
}

func TestACacheKeepsNothingOfAFileThatWasNotReadInOrderOrToItsEnd(t *testing.T) {
	t.Parallel()
	inner := newCountingIO(t, map[string]string{"mem://a": "0123456789"})
	fs := NewCache(100).Through(inner)
	f, err := fs.Open("mem://a")
	require.NoError(t, err)
	_, err = io.ReadFull(f, make([]byte, 4))
	require.NoError(t, err)
	require.NoError(t, f.Close())
	f, err = fs.Open("mem://a")
	require.NoError(t, err)
	_, err = f.Seek(5, io.SeekStart)
	require.NoError(t, err)
	_, err = io.ReadAll(f)
	require.NoError(t, err)
	assert.Equal(t, "0123456789", readThrough(t, fs, "mem://a"))
	assert.Equal(t, 3, inner.opened["mem://a"])
}
