package storage_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/dvcompactor/dvcompactor/internal/storage"
)

func removals(t *testing.T, s *storage.Store, base string) {
	write(t, s, base+"d/x", []byte("x"))
	for range 2 {
		before := s.Stats()
		if err := s.Remove(t.Context(), base+"d/x"); err != nil {
			t.Error(err)
		}
		if got := s.Stats().Sub(before); got.Requests() != 1 || got.Deletes != 1 {
			t.Errorf("requests: %+v", got)
		}
		wantAbsent(t, s, base+"d/x")
	}
	if err := s.Remove(t.Context(), base+"d"); err != nil {
		t.Errorf("a directory is no object: %v", err)
	}
}

func overwrites(t *testing.T, s *storage.Store, base string) {
	for _, text := range []string{"first", "second, longer", "3rd", ""} {
		write(t, s, base+"d/x", []byte(text))
		wantContent(t, s, base+"d/x", []byte(text))
	}
}

func putIfAbsent(t *testing.T, s *storage.Store, base string) {
	const writers = 8
	var wg sync.WaitGroup
	errs := make([]error, writers)
	for i := range writers {
		wg.Go(func() {
			errs[i] = s.WriteFileIfAbsent(t.Context(), base+"new/lease", fmt.Append(nil, "writer ", i))
		})
	}
	wg.Wait()
	winner := -1
	for i, err := range errs {
		switch {
		case err == nil && winner < 0:
			winner = i
		case err == nil:
			t.Errorf("writers %d and %d both won", winner, i)
		case !errors.Is(err, storage.ErrExists) || !errors.Is(err, fs.ErrExist):
			t.Errorf("writer %d: %v", i, err)
		}
	}
	wantContent(t, s, base+"new/lease", fmt.Append(nil, "writer ", winner))
	err := s.WriteFileIfAbsent(t.Context(), base+"new/lease", fmt.Append(nil, "writer ", winner))
	if !errors.Is(err, storage.ErrExists) {
		t.Errorf("same content again: %v", err)
	}
}

// oddKeys writes keys that stores and clients like to change, and finds each with its own content.
func oddKeys(l limits) func(t *testing.T, s *storage.Store, base string) {
	return func(t *testing.T, s *storage.Store, base string) {
		base += "odd/"
		keys := keptKeys(t, s, base, l)
		for i, key := range keys {
			write(t, s, base+key, fmt.Append(nil, i, key))
		}
		for i, key := range keys {
			wantKey(t, s, base+key, fmt.Sprint(i), fmt.Append(nil, i, key))
		}
		listed := map[string]bool{}
		for object, err := range s.List(t.Context(), base) {
			if err != nil {
				t.Fatal(err)
			}
			listed[object.Location] = true
		}
		for _, key := range keys {
			if !listed[base+key] {
				t.Errorf("%q is not listed", key)
			}
			if err := s.Remove(t.Context(), base+key); err != nil {
				t.Error(err)
			}
			wantAbsent(t, s, base+key)
		}
	}
}

// keptKeys returns the odd keys that a store takes, and sees that it refuses the others in every operation.
func keptKeys(t *testing.T, s *storage.Store, base string, l limits) []string {
	t.Helper()
	keys := []string{
		"plain", "a table/x", "ü/日本/é", "100%", "%20", "%2F", "x%2Fy/z", "a+b", "a#b", "a?b=c", "{a}", "a&b;c=d",
		"tab\there", "new\nline", "back\\slash", "quote\"'", "a b/ü+1#x%20?q={d}/f.parquet", "da#a=x%2Fy/1.parquet",
		"__0x9__", "..x/y", "x../y", "x/..y", "...", "~", " lead", "trail ", "*", "<>|:", "a/.hidden",
	}
	if !l.folds {
		keys = append(keys, "two//slashes", "two/slashes", "//lead")
	}
	for _, key := range l.refused {
		_, err1 := s.ReadFile(t.Context(), base+key)
		_, err2 := s.Size(t.Context(), base+key)
		for i, err := range []error{err1, err2, s.WriteFile(t.Context(), base+key, nil), s.Remove(t.Context(), base+key)} {
			if !errors.Is(err, storage.ErrInvalidLocation) {
				t.Errorf("operation %d on %q: %v", i, key, err)
			}
		}
	}
	return slices.DeleteFunc(keys, func(key string) bool { return slices.Contains(l.refused, key) })
}

// wantKey reads an object in every way.
func wantKey(t *testing.T, s *storage.Store, location, start string, content []byte) {
	t.Helper()
	wantContent(t, s, location, content)
	if n, err := s.Size(t.Context(), location); err != nil || n != int64(len(content)) {
		t.Errorf("size of %q: %d, %v", location, n, err)
	}
	got, err := s.ReadRange(t.Context(), location, 0, int64(len(start)))
	if string(got) != start || err != nil {
		t.Errorf("range of %q: %q, %v", location, got, err)
	}
}

func aborts(t *testing.T, s *storage.Store, base string) {
	for _, size := range []int{0, 1000, 2 << 20} { // the last is streamed
		location := fmt.Sprint(base, "aborted/", size)
		w, err := s.Create(t.Context(), location)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write(randomBytes(size)); err != nil {
			t.Fatal(err)
		}
		wantAbsent(t, s, location)
		if err := w.Abort(); err != nil {
			t.Errorf("abort: %v", err)
		}
		if err := w.Close(); !errors.Is(err, fs.ErrClosed) {
			t.Errorf("close after abort: %v", err)
		}
		wantAbsent(t, s, location)
	}
	wantListed(t, s, base)
}

func largeObjects(l limits) func(t *testing.T, s *storage.Store, base string) {
	return func(t *testing.T, s *storage.Store, base string) {
		largeObject(t, s, base, 1<<20+1)
		if !l.onePart {
			largeObject(t, s, base, 20<<20+7) // more than two parts of every store
		}
	}
}

func largeObject(t *testing.T, s *storage.Store, base string, size int) {
	before := s.Stats().BytesWritten
	data := randomBytes(size)
	w, err := s.Create(t.Context(), base+"large")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = w.Abort() }()
	if n, err := w.ReadFrom(bytes.NewReader(data)); n != int64(len(data)) || err != nil {
		t.Fatalf("wrote %d, %v", n, err)
	}
	if w.Size() != int64(len(data)) || w.Location() != base+"large" {
		t.Errorf("size %d, location %s", w.Size(), w.Location())
	}
	cost(t, s, storage.Stats{Puts: 1}, func() {
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
	})
	wantContent(t, s, base+"large", data)
	if got := s.Stats().BytesWritten - before; got != int64(len(data)) {
		t.Errorf("%d bytes written", got)
	}
	tail, err := s.ReadRange(t.Context(), base+"large", int64(size)-3, 3)
	if err != nil || !bytes.Equal(tail, data[size-3:]) {
		t.Errorf("the last bytes: %v, %v", tail, err)
	}
}

func concurrentWriters(t *testing.T, s *storage.Store, base string) {
	const writers = 8
	var wg sync.WaitGroup
	for i := range writers {
		wg.Go(func() {
			content := bytes.Repeat([]byte{byte('a' + i)}, 5000)
			if err := s.WriteFile(t.Context(), base+"deep/er/same", content); err != nil {
				t.Error(err)
			}
			if err := s.WriteFile(t.Context(), fmt.Sprint(base, "deep/", i, "/own"), content); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	got, err := s.ReadFile(t.Context(), base+"deep/er/same")
	if err != nil || len(got) != 5000 || !bytes.Equal(got, bytes.Repeat(got[:1], 5000)) {
		t.Errorf("a mixed object of %d bytes, %v", len(got), err)
	}
}

func fileIOWrites(t *testing.T, s *storage.Store, base string) {
	fsys := s.FileIO(t.Context())
	cost(t, s, storage.Stats{Puts: 1}, func() {
		w, err := fsys.Create(base + "m/a.avro")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(w, "one "); err != nil {
			t.Error(err)
		}
		if _, err := w.ReadFrom(strings.NewReader("two")); err != nil {
			t.Error(err)
		}
		if err := w.Close(); err != nil {
			t.Error(err)
		}
	})
	wantContent(t, s, base+"m/a.avro", []byte("one two"))
	if err := fsys.WriteFile(base+"m/b", []byte("b")); err != nil {
		t.Error(err)
	}
	if err := fsys.Remove(base + "m/a.avro"); err != nil {
		t.Error(err)
	}
	wantListed(t, s, base, "m/b")
}
