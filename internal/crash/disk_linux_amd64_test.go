package crash

import (
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// disk knows what of a folder is sure to survive a power cut: the content of a file as it was last synced, and the names in
// a folder as they were when that was last synced. What is there when it is made is all synced.
type disk struct {
	names   map[string]map[string]uint64 // of files, by folder; with what each names
	content map[uint64][]byte            // of files that were synced
}

func newDisk(t *testing.T, dir string) *disk {
	d := &disk{names: map[string]map[string]uint64{}, content: map[uint64][]byte{}}
	require.NoError(t, filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		if err == nil {
			d.sync(t, path)
		}
		return err
	}))
	return d
}

// sync notes that a file or folder is about to be synced.
func (d *disk) sync(t *testing.T, path string) {
	info, err := os.Stat(path)
	require.NoError(t, err)
	if info.IsDir() {
		d.names[path] = filesIn(t, path)
		return
	}
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	d.content[identity(info)] = data
}

func identity(info fs.FileInfo) uint64 { return info.Sys().(*syscall.Stat_t).Ino }

func filesIn(t *testing.T, dir string) map[string]uint64 {
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	out := map[string]uint64{}
	for _, e := range entries {
		if !e.IsDir() {
			info, err := e.Info()
			require.NoError(t, err)
			out[e.Name()] = identity(info)
		}
	}
	return out
}

// cutPower makes the folder hold what was synced and nothing else: the worst that can be. A file whose name was synced and
// whose content was not is empty.
func (d *disk) cutPower(t *testing.T) {
	for dir, names := range d.names {
		for name := range filesIn(t, dir) {
			if _, ok := names[name]; !ok {
				require.NoError(t, os.Remove(filepath.Join(dir, name)))
			}
		}
		for name, id := range names {
			require.NoError(t, os.WriteFile(filepath.Join(dir, name), d.content[id], 0o600))
		}
	}
}
