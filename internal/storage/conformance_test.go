package storage_test

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/dvcompactor/dvcompactor/internal/storage"
	"github.com/dvcompactor/dvcompactor/internal/testlake/cloudserver"
)

// backend makes a store whose locations under base work.
type backend struct {
	name string
	open func(t *testing.T) (s *storage.Store, base string)
	limits
}

// limits say where a store or its server falls short.
type limits struct {
	// refused keys give ErrInvalidLocation, as the store would take them for others.
	refused []string
	// folds tells that a store takes a//b for a/b, as file systems do.
	folds bool
	// onePart tells that the server gives an object of many parts a checksum that is not its own.
	onePart bool
}

// backends are stores that need nothing but this program.
func backends() []backend {
	return []backend{
		{"memory", func(t *testing.T) (*storage.Store, string) {
			return openMounted(t, "mem://"), "s3://lake/"
		}, limits{}},
		{"local folder", func(t *testing.T) (*storage.Store, string) {
			return openMounted(t, "file://"+t.TempDir()+"/not/there/yet"), "s3://lake/"
		}, limits{folds: true}},
		{"local without mapping", func(t *testing.T) (*storage.Store, string) {
			return open(t, storage.Options{}), "file://" + t.TempDir() + "/"
		}, limits{folds: true}},
		{"S3 with mapping", func(t *testing.T) (*storage.Store, string) {
			return openMounted(t, newS3Lab(t).MountURL("lake")), "s3://lake/"
		}, limits{onePart: true}},
		{"S3 with mapping to a folder", func(t *testing.T) (*storage.Store, string) {
			u := strings.Replace(newS3Lab(t).MountURL("lake"), "?", "/some/dir?", 1)
			return openMounted(t, u), "s3://lake/"
		}, limits{onePart: true}},
		{"S3 by properties", func(t *testing.T) (*storage.Store, string) {
			return open(t, storage.Options{Properties: newS3Lab(t).Properties()}), "s3a://other/"
		}, limits{onePart: true}},
		{"GCS by properties", func(t *testing.T) (*storage.Store, string) {
			return open(t, storage.Options{Properties: cloudserver.NewGCS(t).Properties()}), "gs://lake/"
		}, limits{}},
		{"Azure by properties", func(t *testing.T) (*storage.Store, string) {
			server := cloudserver.NewAzure(t)
			return open(t, storage.Options{Properties: server.Properties()}), server.Base("lake")
		}, azureLimits()},
	}
}

// azureLimits are those of Azure, which reads a backslash as a slash.
func azureLimits() limits { return limits{refused: []string{`back\slash`}} }

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

// property is what every store has to have.
type property struct {
	name  string
	check func(t *testing.T, s *storage.Store, base string)
}

func properties(l limits) []property {
	return []property{
		{"a ranged read returns exactly the range with one ranged GET", rangedReads},
		{"a range beyond the end is an error and says so", rangesBeyondEnd},
		{"a whole read is one GET", wholeReads},
		{"the size is one HEAD", sizes},
		{"a missing object is fs.ErrNotExist and never retried", missingObjects},
		{"removal is one DELETE and forgives a missing object", removals},
		{"a write replaces what was there", overwrites},
		{"put if absent lets the first of many win", putIfAbsent},
		{"keys are byte exact", oddKeys(l)},
		{"an unfinished object is invisible and an aborted one leaves nothing", aborts},
		{"an object larger than one PUT arrives whole", largeObjects(l)},
		{"concurrent writers leave one whole object", concurrentWriters},
		{"a cancelled context stops every operation", cancelled},
		{"a listing finds what was written, in order", listings},
		{"a listing goes on after a thousand objects", longListings},
		{"a FileIO file is one GET, seeks, and reads at offsets", fileIO},
		{"a FileIO file is written with one PUT at Close", fileIOWrites},
		{"an object reader asks for the size only when it must", objects},
		{"a store without versions tells of none, or of the one there is", withoutVersions},
	}
}

// TestConformance runs every property of a store over every backend.
func TestConformance(t *testing.T) {
	t.Parallel()
	for _, b := range backends() {
		t.Run(b.name, func(t *testing.T) { conforms(t, b) })
	}
	for _, server := range foreignServers() {
		t.Run(server.name, func(t *testing.T) {
			t.Parallel()
			for _, b := range server.start(t) {
				t.Run(b.name, func(t *testing.T) { conforms(t, b) })
			}
		})
	}
}

func conforms(t *testing.T, b backend) {
	for _, p := range properties(b.limits) {
		t.Run(p.name, func(t *testing.T) {
			t.Parallel()
			s, base := b.open(t)
			p.check(t, s, base)
		})
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
