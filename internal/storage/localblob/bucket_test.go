package localblob

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"gocloud.dev/blob"
	"gocloud.dev/gcerrors"
)

// syncs records what was synced.
type syncs struct {
	mu    sync.Mutex
	names []string
}

func (s *syncs) add(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.names = append(s.names, filepath.Clean(name))
}

func (s *syncs) take() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := s.names
	s.names = nil
	return out
}

func openTemp(t *testing.T) (b *blob.Bucket, dir string, s *syncs) {
	t.Helper()
	dir, s = t.TempDir(), &syncs{}
	tr := tree{dir: dir, synced: s.add}
	b = blob.NewBucket(&bucket{tree: tr, dirs: dirs{tree: tr}})
	t.Cleanup(func() { _ = b.Close() })
	return b, dir, s
}

func put(t *testing.T, b *blob.Bucket, key, content string) {
	t.Helper()
	if err := b.WriteAll(t.Context(), key, []byte(content), nil); err != nil {
		t.Fatal(err)
	}
}

// files returns every file and directory below dir.
func files(t *testing.T, dir string) []string {
	t.Helper()
	var out []string
	err := filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		if path != dir {
			out = append(out, strings.TrimPrefix(path, dir+"/"))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestACommitSyncsTheFileItsDirectoryAndNewParents(t *testing.T) {
	t.Parallel()
	b, _, s := openTemp(t)
	put(t, b, "a/b/c", "1")
	if got, want := s.take(), []string{"a/b/c", "a", ".", "a/b"}; !slices.Equal(got, want) {
		t.Errorf("first in new directories: synced %q, want %q", got, want)
	}
	put(t, b, "a/b/d", "2")
	if got, want := s.take(), []string{"a/b/d", "a/b"}; !slices.Equal(got, want) {
		t.Errorf("second: synced %q, want %q", got, want)
	}
	put(t, b, "top", "3")
	if got, want := s.take(), []string{"top", "."}; !slices.Equal(got, want) {
		t.Errorf("at the top: synced %q, want %q", got, want)
	}
}

func TestACommitSyncsDirectoriesThatAnotherWriterMade(t *testing.T) {
	t.Parallel()
	b, _, s := openTemp(t)
	slow, err := b.NewWriter(t.Context(), "new/slow", &blob.WriterOptions{ContentType: "a/b"})
	if err != nil {
		t.Fatal(err)
	}
	put(t, b, "new/fast", "x")
	if got, want := s.take(), []string{"new/fast", ".", "new"}; !slices.Equal(got, want) {
		t.Errorf("synced %q, want %q", got, want)
	}
	if err := slow.Close(); err != nil {
		t.Error(err)
	}
}

func TestMissingFolderIsMadeByTheFirstWrite(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "not", "there")
	b, err := OpenBucket(Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = b.Close() })
	if _, err := b.ReadAll(t.Context(), "x"); gcerrors.Code(err) != gcerrors.NotFound {
		t.Errorf("read: %v", err)
	}
	if _, err := b.List(nil).Next(t.Context()); !errors.Is(err, io.EOF) {
		t.Errorf("list: %v", err)
	}
	if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("reading made the folder: %v", err)
	}
	put(t, b, "d/x", "1")
	if got := files(t, dir); !slices.Equal(got, []string{"d", "d/x"}) {
		t.Errorf("got %q", got)
	}
}

func TestNoTemporaryFileStays(t *testing.T) {
	t.Parallel()
	cancelledCtx, cancel := context.WithCancel(t.Context())
	ends := []struct {
		name string
		ctx  context.Context
		end  func(t *testing.T, dir string, w *blob.Writer)
		want []string
	}{
		{"after a commit", t.Context(), func(t *testing.T, _ string, w *blob.Writer) {
			if err := w.Close(); err != nil {
				t.Error(err)
			}
		}, []string{"d", "d/taken", "d/x"}},
		{"after an abort", cancelledCtx, func(t *testing.T, dir string, w *blob.Writer) {
			if got := files(t, dir); len(got) != 3 {
				t.Errorf("nothing is being written: %q", got)
			}
			cancel()
			if err := w.Close(); !errors.Is(err, context.Canceled) {
				t.Errorf("got %v", err)
			}
		}, []string{"d", "d/taken"}},
		{"after a failed rename", t.Context(), func(t *testing.T, dir string, w *blob.Writer) {
			if err := os.MkdirAll(filepath.Join(dir, "d/x/y"), 0o777); err != nil {
				t.Fatal(err)
			}
			if err := w.Close(); err == nil {
				t.Error("an object replaced a directory")
			}
		}, []string{"d", "d/taken", "d/x", "d/x/y"}},
	}
	for _, tt := range ends {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			b, dir, _ := openTemp(t)
			put(t, b, "d/taken", "")
			w, err := b.NewWriter(tt.ctx, "d/x", &blob.WriterOptions{ContentType: "a/b"})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := w.Write([]byte("data")); err != nil {
				t.Fatal(err)
			}
			tt.end(t, dir, w)
			if got := files(t, dir); !slices.Equal(got, tt.want) {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

func TestIfNotExistNeverReplaces(t *testing.T) {
	t.Parallel()
	b, dir, _ := openTemp(t)
	opts := &blob.WriterOptions{IfNotExist: true}
	if err := b.WriteAll(t.Context(), "x", []byte("first"), opts); err != nil {
		t.Fatal(err)
	}
	err := b.WriteAll(t.Context(), "x", []byte("second"), opts)
	if gcerrors.Code(err) != gcerrors.FailedPrecondition || !errors.Is(err, fs.ErrExist) {
		t.Errorf("got %v", err)
	}
	if got, err := b.ReadAll(t.Context(), "x"); string(got) != "first" || err != nil {
		t.Errorf("got %q, %v", got, err)
	}
	if got := files(t, dir); !slices.Equal(got, []string{"x"}) {
		t.Errorf("left behind: %q", got)
	}
}

func TestPermissionIsDenied(t *testing.T) {
	t.Parallel()
	if os.Geteuid() == 0 {
		t.Skip("root may read everything")
	}
	b, dir, _ := openTemp(t)
	put(t, b, "x", "1")
	if err := os.Chmod(filepath.Join(dir, "x"), 0); err != nil {
		t.Fatal(err)
	}
	if _, err := b.ReadAll(t.Context(), "x"); gcerrors.Code(err) != gcerrors.PermissionDenied {
		t.Errorf("got %v", err)
	}
}
