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

func TestKeysCannotLeaveTheFolder(t *testing.T) {
	t.Parallel()
	b, dir, _ := openTemp(t)
	outside := t.TempDir()
	if err := os.WriteFile(filepath.Join(outside, "secret"), []byte("s"), 0o666); err != nil {
		t.Fatal(err)
	}
	put(t, b, "a/b", "")
	links := map[string]string{
		"absolute": outside,
		"file":     filepath.Join(outside, "secret"),
		"relative": "../" + filepath.Base(outside),
	}
	for name, to := range links {
		if err := os.Symlink(to, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	keys := []string{
		"../" + filepath.Base(outside) + "/secret", "a/../../x", "absolute/secret", "file", "relative/secret", "absolute/new",
	}
	for _, key := range keys {
		_, readErr := b.ReadAll(t.Context(), key)
		if key != "absolute/new" && !errors.Is(readErr, ErrInvalidKey) {
			t.Errorf("read %q: %v", key, readErr)
		}
		if key == "file" {
			continue // a write replaces the link itself, which stays inside
		}
		if err := b.WriteAll(t.Context(), key, []byte("!"), nil); !errors.Is(err, ErrInvalidKey) {
			t.Errorf("write %q: %v", key, err)
		}
		if err := b.Delete(t.Context(), key); err == nil {
			t.Errorf("deleted %q", key)
		}
	}
	if got := files(t, outside); !slices.Equal(got, []string{"secret"}) {
		t.Errorf("outside: %q", got)
	}
}

func TestLinksInsideAreFollowed(t *testing.T) {
	t.Parallel()
	b, dir, _ := openTemp(t)
	put(t, b, "real/x", "1")
	if err := os.Symlink("real", filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	if got, err := b.ReadAll(t.Context(), "link/x"); string(got) != "1" || err != nil {
		t.Errorf("got %q, %v", got, err)
	}
	root, err := OpenBucket(Options{Dir: "/"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = root.Close() })
	if err := os.Symlink(filepath.Join(dir, "real"), filepath.Join(dir, "absolute")); err != nil {
		t.Fatal(err)
	}
	if got, err := root.ReadAll(t.Context(), dir[1:]+"/absolute/x"); string(got) != "1" || err != nil {
		t.Errorf("below /: got %q, %v", got, err)
	}
}

func TestKeysThatAreNoFileNames(t *testing.T) {
	t.Parallel()
	b, _, _ := openTemp(t)
	for _, key := range []string{"d/", ".", "..", "a/..", "a\x00b", "d/" + TempPrefix + "1"} {
		if err := b.WriteAll(t.Context(), key, nil, nil); gcerrors.Code(err) != gcerrors.InvalidArgument {
			t.Errorf("write %q: %v", key, err)
		}
		if _, err := b.ReadAll(t.Context(), key); gcerrors.Code(err) != gcerrors.InvalidArgument {
			t.Errorf("read %q: %v", key, err)
		}
	}
}

func TestAFileCannotHoldObjects(t *testing.T) {
	t.Parallel()
	b, dir, _ := openTemp(t)
	put(t, b, "file", "x")
	err := b.WriteAll(t.Context(), "file/below", nil, nil)
	if err == nil || gcerrors.Code(err) == gcerrors.NotFound || !strings.Contains(err.Error(), "is a file") {
		t.Errorf("got %v", err)
	}
	if got := files(t, dir); !slices.Equal(got, []string{"file"}) {
		t.Errorf("got %q", got)
	}
}

func TestDeleteSparesDirectories(t *testing.T) {
	t.Parallel()
	b, dir, _ := openTemp(t)
	if err := os.Mkdir(filepath.Join(dir, "empty"), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := b.Delete(t.Context(), "empty"); gcerrors.Code(err) != gcerrors.NotFound {
		t.Errorf("got %v", err)
	}
	if got := files(t, dir); !slices.Equal(got, []string{"empty"}) {
		t.Errorf("got %q", got)
	}
}

func TestListing(t *testing.T) {
	t.Parallel()
	b, dir, _ := openTemp(t)
	for _, key := range []string{"t/b", "t/a/x", "t/a/y", "t/a.b", "u"} {
		put(t, b, key, "12")
	}
	if err := os.WriteFile(filepath.Join(dir, "t", TempPrefix+"1"), nil, 0o666); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("nowhere", filepath.Join(dir, "t", "dangling")); err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name string
		opts blob.ListOptions
		want string
	}{
		{"everything, in the order of keys", blob.ListOptions{}, "t/a.b t/a/x t/a/y t/b u"},
		{"a prefix within a name", blob.ListOptions{Prefix: "t/a"}, "t/a.b t/a/x t/a/y"},
		{"directories are collapsed", blob.ListOptions{Delimiter: "/"}, "t/* u"},
		{"directories below a prefix", blob.ListOptions{Prefix: "t/", Delimiter: "/"}, "t/a.b t/a/* t/b"},
		{"a prefix keeps its spelling", blob.ListOptions{Prefix: "t//a/"}, "t//a/x t//a/y"},
		{"a file is no directory", blob.ListOptions{Prefix: "u/"}, ""},
		{"a missing directory is empty", blob.ListOptions{Prefix: "none/"}, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			for _, pageSize := range []int{1, 2, 100} {
				var got []string
				token := blob.FirstPageToken
				for len(token) > 0 {
					page, next, err := b.ListPage(t.Context(), token, pageSize, &tt.opts)
					if err != nil {
						t.Fatal(err)
					}
					for _, o := range page {
						if o.IsDir {
							o.Key += "*"
						}
						got = append(got, o.Key)
					}
					token = next
				}
				if strings.Join(got, " ") != tt.want {
					t.Errorf("pages of %d: got %q, want %q", pageSize, got, tt.want)
				}
			}
		})
	}
	if _, err := b.List(&blob.ListOptions{Prefix: "../"}).Next(t.Context()); gcerrors.Code(err) != gcerrors.InvalidArgument {
		t.Errorf("a listing outside: %v", err)
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
