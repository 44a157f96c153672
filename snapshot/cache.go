package snapshot

import (
	"io"
	"sync"

	iceio "github.com/apache/iceberg-go/io"
	"github.com/dvcompactor/dvcompactor/internal/storage"
)

// Cache remembers files that were read from start to end, within a number of bytes. Manifests never change, so a commit
// that has to be made again need not read again those that it rewrites. It is safe for concurrent use.
type Cache struct {
	limit int64

	mu    sync.Mutex
	files map[string][]byte
	order []string // oldest first
	size  int64
}

// NewCache returns an empty cache that keeps up to limit bytes.
func NewCache(limit int64) *Cache { return &Cache{limit: limit, files: map[string][]byte{}} }

// Through returns file access that opens files in the cache first, and everything else through inner.
func (c *Cache) Through(inner iceio.WriteFileIO) iceio.WriteFileIO {
	return &cachedIO{WriteFileIO: inner, cache: c}
}

func (c *Cache) get(name string) ([]byte, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	data, ok := c.files[name]
	return data, ok
}

// put keeps a file and forgets the oldest ones that are too much.
func (c *Cache) put(name string, data []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, known := c.files[name]; known {
		return
	}
	c.files[name] = data
	c.order = append(c.order, name)
	for c.size += int64(len(data)); c.size > c.limit; c.order = c.order[1:] {
		c.size -= int64(len(c.files[c.order[0]]))
		delete(c.files, c.order[0])
	}
}

type cachedIO struct {
	iceio.WriteFileIO
	cache *Cache
}

// Open implements iceio.IO.
func (c *cachedIO) Open(name string) (iceio.File, error) {
	if data, ok := c.cache.get(name); ok {
		return storage.MemoryFile(name, data), nil
	}
	f, err := c.WriteFileIO.Open(name)
	if err != nil {
		return nil, err
	}
	return &recordedFile{File: f, name: name, cache: c.cache}, nil
}

// recordedFile keeps what is read of a file, and gives it to the cache at its end.
type recordedFile struct {
	iceio.File
	name  string
	cache *Cache
	data  []byte
	lost  bool // it is too large, or was not read in order
}

// Read implements io.Reader.
func (f *recordedFile) Read(p []byte) (int, error) {
	n, err := f.File.Read(p)
	switch {
	case f.lost:
	case int64(len(f.data)+n) > f.cache.limit:
		f.lost, f.data = true, nil
	default:
		f.data = append(f.data, p[:n]...)
		if err == io.EOF {
			f.cache.put(f.name, f.data)
		}
	}
	return n, err
}

// Seek implements io.Seeker.
func (f *recordedFile) Seek(offset int64, whence int) (int64, error) {
	f.lost, f.data = true, nil
	return f.File.Seek(offset, whence)
}
