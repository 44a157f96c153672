package localblob

import (
	"errors"
	"io/fs"
	"path"
	"sync"
)

// dirs makes directories and remembers which of them still have to be synced into their parents.
//
// A writer may find a directory that another writer has made a moment ago and not synced yet. Its own commit would then
// be lost with the directory. So a directory stays in pending from before it is made until its parent was synced, and
// every commit first syncs what is pending on its own path, whoever made it.
type dirs struct {
	tree    tree
	mu      sync.Mutex
	pending map[string]struct{}
}

// make makes directory name and its missing parents inside the tree.
func (d *dirs) make(name string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.tree.mkroot(); err != nil {
		return err
	}
	return d.makeLocked(path.Clean(name))
}

func (d *dirs) makeLocked(name string) error {
	if name == "." {
		return nil
	}
	info, err := d.tree.stat(name)
	if err == nil && !info.IsDir() {
		return &fs.PathError{Op: "mkdir", Path: name, Err: errors.New("is a file, so it cannot hold objects")}
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := d.makeLocked(path.Dir(name)); err != nil {
		return err
	}
	if d.pending == nil {
		d.pending = map[string]struct{}{}
	}
	d.pending[name] = struct{}{}
	if err := d.tree.mkdir(name); err != nil && !errors.Is(err, fs.ErrExist) {
		delete(d.pending, name)
		return err
	}
	return nil
}

// sync makes the entries of directory name durable, and the directory itself up to the root of the tree.
func (d *dirs) sync(name string) error {
	if err := d.syncPending(path.Clean(name)); err != nil {
		return err
	}
	return d.tree.syncDir(name)
}

func (d *dirs) syncPending(name string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	for ; name != "." && len(d.pending) > 0; name = path.Dir(name) {
		if _, ok := d.pending[name]; !ok {
			continue
		}
		if err := d.tree.syncDir(path.Dir(name)); err != nil {
			return err
		}
		delete(d.pending, name)
	}
	return nil
}
