package localblob

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gocloud.dev/gcerrors"
)

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

func TestWhatIsNotSupportedSaysSo(t *testing.T) {
	t.Parallel()
	b, _, _ := openTemp(t)
	put(t, b, "x", "1")
	if err := b.Copy(t.Context(), "y", "x", nil); gcerrors.Code(err) != gcerrors.Unimplemented {
		t.Errorf("copy: %v", err)
	}
	if _, err := b.SignedURL(t.Context(), "x", nil); gcerrors.Code(err) != gcerrors.Unimplemented {
		t.Errorf("signed URL: %v", err)
	}
	if _, err := OpenBucket(Options{Dir: "relative"}); err == nil {
		t.Error("opened a relative folder")
	}
}
