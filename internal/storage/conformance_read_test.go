package storage_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/dvcompactor/dvcompactor/internal/storage"
)

func rangedReads(t *testing.T, s *storage.Store, base string) {
	data := randomBytes(1000)
	write(t, s, base+"a/b", data)
	for _, r := range [][2]int64{{0, 1}, {0, 1000}, {999, 1}, {10, 20}, {500, 500}} {
		cost(t, s, storage.Stats{RangeGets: 1}, func() {
			got, err := s.ReadRange(t.Context(), base+"a/b", r[0], r[1])
			if err != nil || !bytes.Equal(got, data[r[0]:r[0]+r[1]]) {
				t.Errorf("range %v: got %d bytes, %v", r, len(got), err)
			}
		})
	}
	cost(t, s, storage.Stats{}, func() {
		got, err := s.ReadRange(t.Context(), base+"a/b", 3, 0)
		if err != nil || got == nil || len(got) != 0 {
			t.Errorf("empty range: got %v, %v", got, err)
		}
	})
}

func rangesBeyondEnd(t *testing.T, s *storage.Store, base string) {
	write(t, s, base+"short", randomBytes(100))
	write(t, s, base+"empty", nil)
	for _, r := range []struct {
		key            string
		offset, length int64
	}{{"short", 0, 101}, {"short", 99, 2}, {"short", 100, 1}, {"short", 1 << 40, 1}, {"short", 0, 1 << 50}, {"empty", 0, 1}} {
		cost(t, s, storage.Stats{RangeGets: 1, Failures: 1}, func() {
			got, err := s.ReadRange(t.Context(), base+r.key, r.offset, r.length)
			if !errors.Is(err, storage.ErrBeyondEnd) || !errors.Is(err, io.ErrUnexpectedEOF) || got != nil {
				t.Errorf("%+v: got %d bytes, %v", r, len(got), err)
			}
			var e *storage.Error
			if !errors.As(err, &e) || e.Offset != r.offset || e.Length != r.length || e.Location != base+r.key {
				t.Errorf("%+v: error does not tell the range: %v", r, err)
			}
		})
	}
	for _, r := range [][2]int64{{-1, 5}, {5, -1}, {1 << 62, 1 << 62}} {
		if _, err := s.ReadRange(t.Context(), base+"short", r[0], r[1]); !errors.Is(err, storage.ErrBeyondEnd) {
			t.Errorf("impossible range %v: got %v", r, err)
		}
	}
}

func wholeReads(t *testing.T, s *storage.Store, base string) {
	for _, n := range []int{0, 1, 511, 512, 100_000} {
		data := randomBytes(n)
		location := fmt.Sprint(base, "whole", n)
		cost(t, s, storage.Stats{Puts: 1}, func() { write(t, s, location, data) })
		cost(t, s, storage.Stats{Gets: 1}, func() { wantContent(t, s, location, data) })
	}
	if st := s.Stats(); st.BytesRead != 101_024 || st.BytesWritten != 101_024 {
		t.Errorf("bytes: %+v", st)
	}
}

func sizes(t *testing.T, s *storage.Store, base string) {
	write(t, s, base+"x", randomBytes(77))
	cost(t, s, storage.Stats{Heads: 1}, func() {
		if n, err := s.Size(t.Context(), base+"x"); n != 77 || err != nil {
			t.Errorf("got %d, %v", n, err)
		}
	})
}

func missingObjects(t *testing.T, s *storage.Store, base string) {
	write(t, s, base+"dir/file", []byte("x"))
	for _, key := range []string{"nothing", "dir", "dir/none", "dir/file/below"} {
		location := base + key
		_, err1 := s.ReadFile(t.Context(), location)
		_, err2 := s.ReadRange(t.Context(), location, 0, 1)
		_, err3 := s.Size(t.Context(), location)
		_, err4 := s.FileIO(t.Context()).Open(location)
		for i, err := range []error{err1, err2, err3, err4} {
			var e *storage.Error
			if !errors.Is(err, fs.ErrNotExist) || !errors.As(err, &e) || e.Location != location {
				t.Errorf("%s, read %d: got %v", key, i, err)
			}
		}
	}
	if n := s.Stats().Retries; n != 0 {
		t.Errorf("%d retries", n)
	}
}

// wantListed compares a listing with the names of the locations below base.
func wantListed(t *testing.T, s *storage.Store, base string, want ...string) {
	t.Helper()
	var got []string
	for object, err := range s.List(t.Context(), base) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, strings.TrimPrefix(object.Location, base))
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("listing of %s: got %q, want %q", base, got, want)
	}
}

func listings(t *testing.T, s *storage.Store, base string) {
	wantListed(t, s, base)
	for _, key := range []string{"t/b", "t/a/x", "t/a.b", "t/a-c/y", "u", "tt"} {
		write(t, s, base+key, []byte("12345"))
	}
	wantListed(t, s, base, "t/a-c/y", "t/a.b", "t/a/x", "t/b", "tt", "u")
	wantListed(t, s, base+"t/", "a-c/y", "a.b", "a/x", "b")
	wantListed(t, s, base+"t/a", "-c/y", ".b", "/x")
	wantListed(t, s, base+"none/")
	for object, err := range s.List(t.Context(), base+"t/b") {
		if err != nil || object.Size != 5 || time.Since(object.ModTime).Abs() > time.Hour {
			t.Errorf("got %+v, %v", object, err)
		}
	}
	cost(t, s, storage.Stats{Lists: 1}, func() {
		for range s.List(t.Context(), base) {
			break
		}
	})
}

func longListings(t *testing.T, s *storage.Store, base string) {
	const objects, atOnce = 1003, 8
	var writers errgroup.Group
	writers.SetLimit(atOnce)
	for i := range objects {
		writers.Go(func() error { return s.WriteFile(t.Context(), fmt.Sprintf("%s%04d", base, i), nil) })
	}
	if err := writers.Wait(); err != nil {
		t.Fatal(err)
	}
	n := 0
	for object, err := range s.List(t.Context(), base) {
		if want := fmt.Sprintf("%s%04d", base, n); err != nil || object.Location != want {
			t.Fatalf("got %+v, %v, want %s", object, err, want)
		}
		n++
	}
	if n != objects {
		t.Errorf("%d objects are listed", n)
	}
}

func fileIO(t *testing.T, s *storage.Store, base string) {
	data := randomBytes(3000)
	write(t, s, base+"f", data)
	f, err := s.FileIO(t.Context()).Open(base + "f")
	if err != nil {
		t.Fatal(err)
	}
	info, err := f.Stat()
	if err != nil || info.Size() != 3000 || info.IsDir() || info.Name() != "f" || !info.Mode().IsRegular() {
		t.Errorf("stat: %+v, %v", info, err)
	}
	if got, err := io.ReadAll(f); err != nil || !bytes.Equal(got, data) {
		t.Errorf("read %d bytes, %v", len(got), err)
	}
	if got := s.Stats(); got.Gets != 1 || got.Requests() != 2 {
		t.Errorf("open and read: %+v", got)
	}
	cost(t, s, storage.Stats{Gets: 1}, func() {
		if pos, err := f.Seek(-1000, io.SeekEnd); pos != 2000 || err != nil {
			t.Errorf("seek: %d, %v", pos, err)
		}
		if got, err := io.ReadAll(f); err != nil || !bytes.Equal(got, data[2000:]) {
			t.Errorf("after seek: %d bytes, %v", len(got), err)
		}
	})
	cost(t, s, storage.Stats{RangeGets: 1}, func() {
		buf := make([]byte, 10)
		if n, err := f.ReadAt(buf, 5); n != 10 || err != nil || !bytes.Equal(buf, data[5:15]) {
			t.Errorf("ReadAt: %d, %v", n, err)
		}
	})
	if err := f.Close(); err != nil {
		t.Error(err)
	}
	if _, err := f.Read(make([]byte, 1)); !errors.Is(err, fs.ErrClosed) {
		t.Errorf("read after close: %v", err)
	}
	if got, err := s.FileIO(t.Context()).ReadFile(base + "f"); err != nil || !bytes.Equal(got, data) {
		t.Errorf("ReadFile: %d bytes, %v", len(got), err)
	}
}

func objects(t *testing.T, s *storage.Store, base string) {
	data := randomBytes(256)
	write(t, s, base+"o", data)
	cost(t, s, storage.Stats{}, func() {
		if n, err := s.Object(base+"o", 256).Size(t.Context()); n != 256 || err != nil {
			t.Errorf("known size: %d, %v", n, err)
		}
	})
	o := s.Object(base+"o", 0)
	cost(t, s, storage.Stats{Heads: 1, RangeGets: 1}, func() {
		r, err := o.SectionReader(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		got := make([]byte, 256)
		if n, err := r.ReadAt(got, 0); n != 256 || err != nil || !bytes.Equal(got, data) {
			t.Errorf("section: %d, %v", n, err)
		}
		if n, err := o.Size(t.Context()); n != 256 || err != nil {
			t.Errorf("size again: %d, %v", n, err)
		}
	})
	if got, err := o.ReadRange(t.Context(), 200, 56); err != nil || !bytes.Equal(got, data[200:]) {
		t.Errorf("range: %d bytes, %v", len(got), err)
	}
	r := o.ReaderAt(t.Context())
	for _, at := range []struct {
		offset int64
		want   int
	}{{250, 6}, {256, 0}, {300, 0}} {
		if n, err := r.ReadAt(make([]byte, 10), at.offset); n != at.want || !errors.Is(err, io.EOF) {
			t.Errorf("ReadAt(%d): %d, %v", at.offset, n, err)
		}
	}
}
