package storage_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/dvcompactor/dvcompactor/internal/storage"
)

// backend makes a store whose locations under base work.
type backend struct {
	name string
	open func(t *testing.T) (s *storage.Store, base string)
}

func backends() []backend {
	return []backend{
		{"memory", func(t *testing.T) (*storage.Store, string) {
			return openMounted(t, "mem://"), "s3://lake/"
		}},
		{"local folder", func(t *testing.T) (*storage.Store, string) {
			return openMounted(t, "file://"+t.TempDir()+"/not/there/yet"), "s3://lake/"
		}},
		{"local without mapping", func(t *testing.T) (*storage.Store, string) {
			return open(t, storage.Options{}), "file://" + t.TempDir() + "/"
		}},
		{"S3 with mapping", func(t *testing.T) (*storage.Store, string) {
			return openMounted(t, newS3Lab(t).mountURL("lake")), "s3://lake/"
		}},
		{"S3 with mapping to a folder", func(t *testing.T) (*storage.Store, string) {
			u := strings.Replace(newS3Lab(t).mountURL("lake"), "?", "/some/dir?", 1)
			return openMounted(t, u), "s3://lake/"
		}},
		{"S3 by properties", func(t *testing.T) (*storage.Store, string) {
			return open(t, storage.Options{Properties: newS3Lab(t).properties()}), "s3a://other/"
		}},
	}
}

func open(t *testing.T, opts storage.Options) *storage.Store {
	t.Helper()
	if opts.Retry == (storage.RetryOptions{}) {
		opts.Retry = storage.RetryOptions{Attempts: 4, BaseDelay: time.Millisecond, MaxDelay: 5 * time.Millisecond}
	}
	opts.SinglePutSize = 1 << 20
	s, err := storage.Open(t.Context(), opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func openMounted(t *testing.T, url string) *storage.Store {
	t.Helper()
	return open(t, storage.Options{Mounts: []storage.Mount{{Prefix: "s3://lake/", URL: url}}})
}

// TestConformance runs every property of a store over every backend.
func TestConformance(t *testing.T) {
	t.Parallel()
	properties := []struct {
		name  string
		check func(t *testing.T, s *storage.Store, base string)
	}{
		{"a ranged read returns exactly the range with one ranged GET", rangedReads},
		{"a range beyond the end is an error and says so", rangesBeyondEnd},
		{"a whole read is one GET", wholeReads},
		{"the size is one HEAD", sizes},
		{"a missing object is fs.ErrNotExist and never retried", missingObjects},
		{"removal is one DELETE and forgives a missing object", removals},
		{"a write replaces what was there", overwrites},
		{"put if absent lets the first of many win", putIfAbsent},
		{"keys are byte exact", oddKeys},
		{"an unfinished object is invisible and an aborted one leaves nothing", aborts},
		{"an object larger than one PUT arrives whole", largeObjects},
		{"concurrent writers leave one whole object", concurrentWriters},
		{"a cancelled context stops every operation", cancelled},
		{"a listing finds what was written, in order", listings},
		{"a FileIO file is one GET, seeks, and reads at offsets", fileIO},
		{"a FileIO file is written with one PUT at Close", fileIOWrites},
		{"an object reader asks for the size only when it must", objects},
	}
	for _, b := range backends() {
		for _, p := range properties {
			t.Run(b.name+"/"+p.name, func(t *testing.T) {
				t.Parallel()
				s, base := b.open(t)
				p.check(t, s, base)
			})
		}
	}
}

// cost runs f and compares the requests that it sent.
func cost(t *testing.T, s *storage.Store, want storage.Stats, f func()) {
	t.Helper()
	before := s.Stats()
	f()
	got := s.Stats().Sub(before)
	want.BytesRead, want.BytesWritten = got.BytesRead, got.BytesWritten
	if got != want {
		t.Errorf("requests: got %+v, want %+v", got, want)
	}
}

func write(t *testing.T, s *storage.Store, location string, data []byte) {
	t.Helper()
	if err := s.WriteFile(t.Context(), location, data); err != nil {
		t.Fatal(err)
	}
}

func wantContent(t *testing.T, s *storage.Store, location string, want []byte) {
	t.Helper()
	got, err := s.ReadFile(t.Context(), location)
	if err != nil {
		t.Errorf("read back: %v", err)
	} else if !bytes.Equal(got, want) {
		t.Errorf("%s: got %d bytes that differ from the %d written", location, len(got), len(want))
	}
}

func wantAbsent(t *testing.T, s *storage.Store, location string) {
	t.Helper()
	if _, err := s.ReadFile(t.Context(), location); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%s: got %v, want fs.ErrNotExist", location, err)
	}
}

func randomBytes(n int) []byte {
	src := rand.NewChaCha8([32]byte{byte(n)})
	data := make([]byte, n)
	_, _ = src.Read(data)
	return data
}

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

func oddKeys(t *testing.T, s *storage.Store, base string) {
	keys := []string{
		"plain", "a table/x", "ü/日本/é", "100%", "%20", "%2F", "x%2Fy/z", "a+b", "a#b", "a?b=c", "{a}", "a&b;c=d",
		"tab\there", "new\nline", "back\\slash", "quote\"'", "a b/ü+1#x%20?q={d}/f.parquet", "da#a=x%2Fy/1.parquet",
		"__0x9__", "..x/y", "x../y", "x/..y", "...", "~", " lead", "trail ", "*", "<>|:", "a/.hidden",
	}
	for i, key := range keys {
		write(t, s, base+"odd/"+key, fmt.Append(nil, i, key))
	}
	for i, key := range keys {
		wantContent(t, s, base+"odd/"+key, fmt.Append(nil, i, key))
		if n, err := s.Size(t.Context(), base+"odd/"+key); err != nil || n != int64(len(fmt.Append(nil, i, key))) {
			t.Errorf("size of %q: %d, %v", key, n, err)
		}
		got, err := s.ReadRange(t.Context(), base+"odd/"+key, 0, int64(len(fmt.Append(nil, i))))
		if string(got) != fmt.Sprint(i) || err != nil {
			t.Errorf("range of %q: %q, %v", key, got, err)
		}
	}
	listed := map[string]bool{}
	for object, err := range s.List(t.Context(), base+"odd/") {
		if err != nil {
			t.Fatal(err)
		}
		listed[object.Location] = true
	}
	for _, key := range keys {
		if !listed[base+"odd/"+key] {
			t.Errorf("%q is not listed", key)
		}
		if err := s.Remove(t.Context(), base+"odd/"+key); err != nil {
			t.Error(err)
		}
		wantAbsent(t, s, base+"odd/"+key)
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

func largeObjects(t *testing.T, s *storage.Store, base string) {
	data := randomBytes(5<<20 + 1)
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
	if got := s.Stats().BytesWritten; got != int64(len(data)) {
		t.Errorf("%d bytes written", got)
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

func cancelled(t *testing.T, s *storage.Store, base string) {
	write(t, s, base+"x", []byte("data"))
	ctx, cancel := context.WithCancel(t.Context())
	w, err := s.Create(ctx, base+"y")
	if err != nil {
		t.Fatal(err)
	}
	cancel()
	_, err1 := s.ReadFile(ctx, base+"x")
	_, err2 := s.ReadRange(ctx, base+"x", 0, 1)
	_, err3 := s.Size(ctx, base+"x")
	_, err4 := s.FileIO(ctx).Open(base + "x")
	_, err5 := s.Create(ctx, base+"x")
	_, err6 := w.Write([]byte("more"))
	errs := []error{
		err1, err2, err3, err4, err5, err6, w.Close(),
		s.WriteFile(ctx, base+"x", nil), s.WriteFileIfAbsent(ctx, base+"z", nil), s.Remove(ctx, base+"x"),
	}
	for i, err := range errs {
		if !errors.Is(err, context.Canceled) {
			t.Errorf("operation %d: got %v", i, err)
		}
	}
	wantListed(t, s, base, "x")
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
