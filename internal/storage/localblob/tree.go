package localblob

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"syscall"
)

// tree is a folder and the few file operations the driver needs in it. Names are relative to the folder.
//
// A folder other than "/" is reached through an os.Root, opened for each operation: a folder that is missing now may be
// there for the next one, and one that was replaced is not held on to.
type tree struct {
	dir string
	// synced, if set, is told the name of every file and directory that was synced.
	synced func(name string)
}

// unconfined tells whether there is no outside to protect.
func (t tree) unconfined() bool { return t.dir == "/" }

func (t tree) abs(name string) string { return t.dir + name }

// within runs plain or, in a folder that must not be left, rooted.
func within[T any](t tree, plain func() (T, error), rooted func(*os.Root) (T, error)) (T, error) {
	if t.unconfined() {
		return plain()
	}
	var none T
	root, err := os.OpenRoot(t.dir)
	if err != nil {
		return none, err
	}
	v, err := rooted(root)
	if cerr := root.Close(); err == nil {
		err = cerr
	}
	return v, escape(err)
}

// escape marks the error of a path that leads outside. The os package has no error value for it.
func escape(err error) error {
	var reason error
	if pe := (*fs.PathError)(nil); errors.As(err, &pe) {
		reason = pe.Err
	} else if le := (*os.LinkError)(nil); errors.As(err, &le) {
		reason = le.Err
	}
	if reason != nil && reason.Error() == "path escapes from parent" {
		return fmt.Errorf("%w: %w", ErrInvalidKey, err)
	}
	return err
}

func (t tree) open(name string) (*os.File, error) { return t.openFile(name, os.O_RDONLY) }

func (t tree) openFile(name string, flag int) (*os.File, error) {
	const perm = 0o666
	return within(t,
		func() (*os.File, error) { return os.OpenFile(t.abs(name), flag, perm) },
		func(r *os.Root) (*os.File, error) { return r.OpenFile(name, flag, perm) })
}

func (t tree) stat(name string) (fs.FileInfo, error) {
	return within(t,
		func() (fs.FileInfo, error) { return os.Stat(t.abs(name)) },
		func(r *os.Root) (fs.FileInfo, error) { return r.Stat(name) })
}

func (t tree) lstat(name string) (fs.FileInfo, error) {
	return within(t,
		func() (fs.FileInfo, error) { return os.Lstat(t.abs(name)) },
		func(r *os.Root) (fs.FileInfo, error) { return r.Lstat(name) })
}

func (t tree) remove(name string) error {
	return t.change(
		func() error { return os.Remove(t.abs(name)) },
		func(r *os.Root) error { return r.Remove(name) })
}

func (t tree) rename(from, to string) error {
	return t.change(
		func() error { return os.Rename(t.abs(from), t.abs(to)) },
		func(r *os.Root) error { return r.Rename(from, to) })
}

func (t tree) link(from, to string) error {
	return t.change(
		func() error { return os.Link(t.abs(from), t.abs(to)) },
		func(r *os.Root) error { return r.Link(from, to) })
}

func (t tree) mkdir(name string) error {
	const perm = 0o777
	return t.change(
		func() error { return os.Mkdir(t.abs(name), perm) },
		func(r *os.Root) error { return r.Mkdir(name, perm) })
}

func (t tree) change(plain func() error, rooted func(*os.Root) error) error {
	_, err := within(t,
		func() (struct{}, error) { return struct{}{}, plain() },
		func(r *os.Root) (struct{}, error) { return struct{}{}, rooted(r) })
	return err
}

// walk calls visit with the files and directories below directory start.
func (t tree) walk(start string, visit func(fsys fs.FS, name string, entry fs.DirEntry, err error) error) error {
	run := func(fsys fs.FS) error {
		return fs.WalkDir(fsys, start, func(name string, entry fs.DirEntry, err error) error {
			return visit(fsys, name, entry, err)
		})
	}
	return t.change(
		func() error { return run(os.DirFS(t.dir)) },
		func(r *os.Root) error { return run(r.FS()) })
}

// mkroot makes the folder itself, durably, when it is missing.
func (t tree) mkroot() error {
	if _, err := os.Stat(t.dir); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	outer := dirs{tree: tree{dir: "/", synced: t.synced}}
	if err := outer.make("." + t.dir); err != nil {
		return err
	}
	return outer.sync("." + path.Dir(t.dir))
}

// syncDir makes the entries of directory name durable. File systems that cannot sync a directory say so with EINVAL or
// ENOTSUP; there is nothing more to do on them.
func (t tree) syncDir(name string) error {
	d, err := t.open(name)
	if err != nil {
		return err
	}
	err = d.Sync()
	if errors.Is(err, syscall.EINVAL) || errors.Is(err, syscall.ENOTSUP) {
		err = nil
	}
	t.note(name)
	return errors.Join(err, d.Close())
}

// syncFile makes the content of an open file durable.
func (t tree) syncFile(f *os.File, name string) error {
	t.note(name)
	return f.Sync()
}

func (t tree) note(name string) {
	if t.synced != nil {
		t.synced(name)
	}
}
