package localblob

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gocloud.dev/blob"
	"gocloud.dev/gcerrors"
)

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
