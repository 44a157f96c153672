package localblob

import (
	"context"
	"crypto/rand"
	"errors"
	"io/fs"
	"os"
	"strings"
	"syscall"

	"gocloud.dev/blob/driver"
)

// NewTypedWriter implements driver.Bucket. The content type has no place in a file system and is ignored.
func (b *bucket) NewTypedWriter(ctx context.Context, key, _ string, opts *driver.WriterOptions) (driver.Writer, error) {
	name, err := fileName(ctx, key)
	if err != nil {
		return nil, err
	}
	if opts.BeforeWrite != nil {
		if err := opts.BeforeWrite(func(any) bool { return false }); err != nil {
			return nil, err
		}
	}
	dir := name[:strings.LastIndexByte(name, '/')] // uncleaned, because "link/.." is not "."
	temp := dir + "/" + TempPrefix + rand.Text()
	f, err := b.createTemp(dir, temp)
	if err != nil {
		return nil, err
	}
	return &writer{ctx: ctx, bucket: b, file: f, temp: temp, name: name, dir: dir, ifNotExist: opts.IfNotExist}, nil
}

// createTemp creates the temporary file, making its directory when that is missing. It tries more than once because
// somebody may remove an empty directory in between.
func (b *bucket) createTemp(dir, temp string) (*os.File, error) {
	const attempts = 3
	for i := 1; ; i++ {
		f, err := b.tree.openFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL)
		missing := errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR)
		if i == attempts || !missing {
			return f, err
		}
		if err := b.dirs.make(dir); err != nil {
			return nil, err
		}
	}
}

// writer implements driver.Writer.
type writer struct {
	ctx        context.Context
	bucket     *bucket
	file       *os.File
	temp       string
	name       string
	dir        string
	ifNotExist bool
}

// Write implements io.Writer.
func (w *writer) Write(p []byte) (int, error) {
	if err := w.ctx.Err(); err != nil {
		return 0, err
	}
	return w.file.Write(p)
}

// Close publishes the object, or removes every trace of it when the context was cancelled or a step fails.
func (w *writer) Close() error {
	err := w.ctx.Err()
	if err == nil {
		err = w.bucket.tree.syncFile(w.file, w.name)
	}
	err = errors.Join(err, w.file.Close())
	if err == nil {
		err = w.ctx.Err()
	}
	if err == nil {
		err = w.publish()
	}
	if err != nil {
		return errors.Join(err, w.discard())
	}
	return w.bucket.dirs.sync(w.dir)
}

func (w *writer) publish() error {
	if !w.ifNotExist {
		return w.bucket.tree.rename(w.temp, w.name)
	}
	if err := w.bucket.tree.link(w.temp, w.name); err != nil {
		return err
	}
	// The object is there; a temporary name that cannot be removed is litter, not a failed write.
	_ = w.bucket.tree.remove(w.temp)
	return nil
}

// discard removes the temporary file. It may be gone already when the folder was removed under the writer.
func (w *writer) discard() error {
	err := w.bucket.tree.remove(w.temp)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
