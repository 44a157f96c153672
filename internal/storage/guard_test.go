package storage

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// openLake opens a store whose s3://lake/ is a folder, beside a file that is not in it.
func openLake(t *testing.T) (s *Store, lake, outside string) {
	t.Helper()
	dir := t.TempDir()
	lake, outside = filepath.Join(dir, "lake"), filepath.Join(dir, "outside")
	for path, text := range map[string]string{filepath.Join(lake, "t", "x"): "inside", filepath.Join(lake, "t", "%2e%2e", "x"): "literal", outside: "secret"} {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s, err := Open(t.Context(), Options{Mounts: []Mount{{Prefix: "s3://lake/", URL: "file://" + lake}}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s, lake, outside
}

func TestATableInACloudStoreReachesNothingThatIsNotItsBusiness(t *testing.T) {
	t.Parallel()
	s, lake, outside := openLake(t)
	for link, to := range map[string]string{"t/link": outside, "t/up": "../../outside", "t/dir": filepath.Dir(outside)} {
		if err := os.Symlink(to, filepath.Join(lake, link)); err != nil {
			t.Fatal(err)
		}
	}
	if err := syscall.Mkfifo(filepath.Join(lake, "t", "pipe"), 0o600); err != nil {
		t.Fatal(err)
	}
	table := s.ForTable("lake.db.t", "s3://lake/t/metadata/0.metadata.json")
	for name, location := range map[string]string{
		"above the store":                "s3://lake/../outside",
		"above the store for a moment":   "s3://lake/t/../../lake/t/x",
		"far above the store":            "s3://lake/../../etc/passwd",
		"a local file":                   "file://" + outside,
		"a local file with one slash":    "file:" + outside,
		"a local file on localhost":      "file://localhost" + outside,
		"an absolute path":               outside,
		"a relative file":                "file:etc/passwd",
		"a file on another host":         "file://host/etc/passwd",
		"a path above the root":          "/../etc/passwd",
		"a NUL":                          "s3://lake/t/x\x00",
		"a symbolic link that leads out": "s3://lake/t/link",
		"a link that goes up":            "s3://lake/t/up",
		"below a link that leads out":    "s3://lake/t/dir/outside",
		"a named pipe":                   "s3://lake/t/pipe",
		"a very long key":                "s3://lake/" + strings.Repeat("x", 1<<20),
		"a very long bucket":             "s3://" + strings.Repeat("x", 1<<20) + "/x",
		"a bucket with a password":       "s3://user:secret@lake /x",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if _, err := table.ReadFile(t.Context(), location); !errors.Is(err, ErrInvalidLocation) || len(err.Error()) > 5000 {
				t.Errorf("read: %.300v", err)
			}
			if _, err := table.ReadRange(t.Context(), location, 0, 1); !errors.Is(err, ErrInvalidLocation) {
				t.Errorf("ranged read: %.300v", err)
			}
			if _, err := table.Size(t.Context(), location); !errors.Is(err, ErrInvalidLocation) {
				t.Errorf("size: %.300v", err)
			}
			if _, err := table.FileIO(t.Context()).Open(location); !errors.Is(err, ErrInvalidLocation) {
				t.Errorf("open: %.300v", err)
			}
		})
	}
	for location, want := range map[string]string{"s3://lake/t/x": "inside", "s3://lake/t/%2e%2e/x": "literal", "s3://lake/t/../t/x": "inside"} {
		if got, err := table.ReadFile(t.Context(), location); string(got) != want || err != nil {
			t.Errorf("%s: %q, %v", location, got, err)
		}
	}
}

func TestATableInACloudStoreWritesNoLocalFile(t *testing.T) {
	t.Parallel()
	s, lake, outside := openLake(t)
	if err := os.Symlink(filepath.Dir(outside), filepath.Join(lake, "t", "dir")); err != nil {
		t.Fatal(err)
	}
	table := s.ForTable("lake.db.t", "s3://lake/t/metadata/0.metadata.json")
	for _, location := range []string{"file://" + outside, outside, "s3://lake/../outside", "s3://lake/t/dir/outside"} {
		if err := table.WriteFile(t.Context(), location, []byte("overwritten")); !errors.Is(err, ErrInvalidLocation) {
			t.Errorf("write to %s: %v", location, err)
		}
		if err := table.Remove(t.Context(), location); !errors.Is(err, ErrInvalidLocation) {
			t.Errorf("removal of %s: %v", location, err)
		}
	}
	if got, err := os.ReadFile(outside); string(got) != "secret" || err != nil {
		t.Errorf("the file outside now has %q, %v", got, err)
	}
}

func TestTheErrorSaysWhichTableNamedALocalFileAndWhatToConfigure(t *testing.T) {
	t.Parallel()
	s, _, _ := openLake(t)
	_, err := s.ForTable("lake.db.t", "s3://lake/t/metadata/0.metadata.json").ReadFile(t.Context(), "file:///data/x.parquet")
	if !errors.Is(err, ErrRefusedLocation) {
		t.Fatal(err)
	}
	for _, want := range []string{"lake.db.t", "file:///data/x.parquet", "storage:", `{prefix: "file:///data/"`} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%v does not say %s", err, want)
		}
	}
}

func TestALocalTableReadsLocalFilesAndAMappedOneOnlyItsFolder(t *testing.T) {
	t.Parallel()
	s, lake, outside := openLake(t)
	local := s.ForTable("lake.db.t", "file://"+lake+"/t/metadata/0.metadata.json")
	for _, location := range []string{"file://" + outside, "file:" + outside, outside} {
		if got, err := local.ReadFile(t.Context(), location); string(got) != "secret" || err != nil {
			t.Errorf("%s: %q, %v", location, got, err)
		}
	}
	if _, err := local.ReadFile(t.Context(), "/dev/zero"); !errors.Is(err, ErrInvalidLocation) {
		t.Errorf("a device: %v", err)
	}
	mapped, err := Open(t.Context(), Options{Mounts: []Mount{{Prefix: "file://" + lake, URL: "file://" + lake}}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = mapped.Close() })
	table := mapped.ForTable("lake.db.t", "file://"+lake+"/t/metadata/0.metadata.json")
	if got, err := table.ReadFile(t.Context(), "file://"+lake+"/t/x"); string(got) != "inside" || err != nil {
		t.Errorf("in the folder: %q, %v", got, err)
	}
	if _, err := table.ReadFile(t.Context(), "file://"+outside); !errors.Is(err, ErrRefusedLocation) {
		t.Errorf("outside of the folder: %v", err)
	}
}

func TestATableSharesItsStore(t *testing.T) {
	t.Parallel()
	s, _, _ := openLake(t)
	table := s.ForTable("lake.db.t", "s3://lake/t/metadata/0.metadata.json")
	if table.ForTable("lake.db.t", "s3://lake/t/metadata/1.metadata.json") != table {
		t.Error("the same table got another store")
	}
	if _, err := table.ReadFile(t.Context(), "s3://lake/t/x"); err != nil || table.Stats().Gets != 1 {
		t.Errorf("%v, %+v", err, table.Stats())
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := table.ReadFile(t.Context(), "s3://lake/t/x"); !errors.Is(err, fs.ErrClosed) {
		t.Errorf("closed: %v", err)
	}
}

func TestTableRoot(t *testing.T) {
	t.Parallel()
	for location, want := range map[string]string{
		"s3://lake/t": "s3://lake/t", "s3://lake/t///": "s3://lake/t", "s3://lake/": "s3://lake", "s3://lake": "s3://lake", "s3://lake/a b/ü+%20": "s3://lake/a b/ü+%20",
		"file:///w/t/": "file:///w/t", "file:/w/t": "file:/w/t", "/w/t": "/w/t", "abfss://c@a.dfs.core.windows.net/t": "abfss://c@a.dfs.core.windows.net/t",
		"": "", "/": "", "file:///": "", "file:/": "", "file:w": "", "w/t": "w/t", "./t": "./t", "../t": "", "s3://": "", "s3:///t": "", "s3://lake/../t": "", "s3://lake/t/..": "", "s3://lake/./t": "s3://lake/./t",
		"/w/../etc": "", "/..": "", "s3://lake/a\x00": "", "s3://lake/" + strings.Repeat("x", 5000): "", "s3://la ke/t": "",
	} {
		got, err := TableRoot(location)
		if got != want || (want == "") != errors.Is(err, ErrRefusedLocation) {
			t.Errorf("TableRoot(%.40q) = %q, %v, want %q", location, got, err, want)
		}
	}
}

func TestAPropertyDecidesWhereFilesGoOnlyBelowTheTablesLocation(t *testing.T) {
	t.Parallel()
	const root = "s3://lake/t"
	for property, want := range map[string]string{
		"": root + "/data", root + "/data2": root + "/data2", root + "/a/b//": root + "/a/b", root: root, root + "/": root,
		"s3://lake/t2": root + "/data", "s3://lake": root + "/data", "s3://other/t": root + "/data", "s3a://lake/t/x": root + "/data",
		root + "/../x": root + "/data", root + "/a/../../x": root + "/data", root + "/.": root + "/data", "/etc": root + "/data", "file:///etc": root + "/data",
		root + "/\x00": root + "/data", root + "/" + strings.Repeat("x", 5000): root + "/data",
	} {
		if got := WriteDir(root, property, "data"); got != want {
			t.Errorf("WriteDir(%.40q) = %.40q, want %q", property, got, want)
		}
	}
	if got := WriteDir("s3://lake", "s3://lake/meta", "data"); got != "s3://lake/meta" {
		t.Errorf("below a bucket: %q", got)
	}
}

func TestAPipeDoesNotBlockAReader(t *testing.T) {
	t.Parallel()
	s, lake, _ := openLake(t)
	if err := syscall.Mkfifo(filepath.Join(lake, "pipe"), 0o600); err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() {
		_, err := s.ReadFile(t.Context(), lake+"/pipe")
		done <- err
	}()
	select {
	case err := <-done:
		if !errors.Is(err, ErrInvalidLocation) {
			t.Error(err)
		}
	case <-time.After(20 * time.Second):
		t.Error("it waits for a writer of the pipe")
	}
}

func TestALocationIsShownShortAndPrintable(t *testing.T) {
	t.Parallel()
	if got := Shown("s3://lake/ü \"x\"%20"); got != "s3://lake/ü \"x\"%20" {
		t.Errorf("changed: %q", got)
	}
	if got := Shown("s3://lake/a\x1b]0;x\nb"); got != `s3://lake/a\x1b]0;x\nb` {
		t.Errorf("control characters: %q", got)
	}
	if got := Shown(strings.Repeat("é", 1<<20)); len(got) > 1100 || !strings.HasSuffix(got, "(2097152 bytes)") {
		t.Errorf("long: %d bytes", len(got))
	}
}

func TestTablesOfOneStoreCountTheirRequestsApart(t *testing.T) {
	t.Parallel()
	s, _, _ := openLake(t)
	const metadata = "s3://lake/t/metadata/0.metadata.json"
	one, other := s.ForTable("lake.db.one", metadata), s.ForTable("lake.db.other", metadata)
	if _, err := one.ReadFile(t.Context(), "s3://lake/t/x"); err != nil {
		t.Fatal(err)
	}
	if n := one.Stats().Requests(); n != 1 || other.Stats() != (Stats{}) || s.Stats() != (Stats{}) {
		t.Errorf("one table sent %d requests, want 1; the other %+v, the store itself %+v", n, other.Stats(), s.Stats())
	}
	if again := s.ForTable("lake.db.one", metadata+"2").Stats(); again != one.Stats() {
		t.Errorf("loaded again the table counts %+v, want %+v", again, one.Stats())
	}
}
