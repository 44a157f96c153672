package storage

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"time"

	"gocloud.dev/blob"
)

// file is an object opened for reading through [FileIO].
type file struct {
	readerAt
	target  target
	size    int64
	modTime time.Time

	pos   int64
	body  *blob.Reader // nil after a seek and after a broken transfer
	at    int64        // position of body
	known bool         // size and modTime are those of the object
}

func (s *Store) openFile(ctx context.Context, location string) (*file, error) {
	f := &file{readerAt: readerAt{ctx: ctx, store: s, address: address{location: location}}}
	var err error
	if f.target, err = s.resolve(ctx, location); err == nil {
		err = s.retry(ctx, func(int) error { return f.reopen() })
	}
	if err != nil {
		return nil, &Error{Op: OpGet, Location: location, Err: err}
	}
	return f, nil
}

// reopen sends a GET for everything from pos on. The first one learns the size; the following ones must find the same
// object.
func (f *file) reopen() error {
	f.drop()
	return f.store.request(OpGet, func() error {
		r, err := f.target.open(f.ctx, f.pos, -1)
		if err != nil {
			return err
		}
		reply, err := checkReply(r, f.pos, -1)
		if err == nil && f.known && (reply.size != f.size || !r.ModTime().Equal(f.modTime)) {
			err = fmt.Errorf("%w: the object was replaced while it was read", ErrWrongReply)
		}
		if err != nil {
			closeBody(r)
			return err
		}
		f.size, f.modTime, f.known, f.body, f.at = reply.size, r.ModTime(), true, r, f.pos
		return nil
	})
}

func (f *file) drop() {
	if f.body != nil {
		closeBody(f.body)
		f.body = nil
	}
}

// Read implements io.Reader. A broken transfer is resumed where it broke.
func (f *file) Read(p []byte) (int, error) {
	if f.store == nil {
		return 0, fs.ErrClosed
	}
	if f.size != unknownSize && f.pos >= f.size {
		return 0, io.EOF
	}
	if len(p) == 0 {
		return 0, nil
	}
	n := 0
	err := f.store.retry(f.ctx, func(int) (err error) {
		n, err = f.readOnce(p)
		return err
	})
	if err != nil && !(errors.Is(err, io.EOF) && f.size == unknownSize) {
		return n, &Error{Op: OpGet, Location: f.location, Err: err}
	}
	return n, err
}

func (f *file) readOnce(p []byte) (int, error) {
	if f.body == nil || f.at != f.pos {
		if err := f.reopen(); err != nil {
			return 0, err
		}
	}
	if f.size != unknownSize {
		p = p[:min(int64(len(p)), f.size-f.pos)]
	}
	n, err := f.body.Read(p)
	f.pos += int64(n)
	f.at = f.pos
	f.store.counters.bytesRead.Add(int64(n))
	if n > 0 || err == nil {
		return n, nil // an error beside bytes comes again with the next Read
	}
	f.drop()
	if errors.Is(err, io.EOF) && f.size != unknownSize {
		err = cut(f.pos, f.size)
	}
	return 0, classify(err)
}

// Seek implements io.Seeker. It sends nothing; the next Read does when the position changed.
func (f *file) Seek(offset int64, whence int) (int64, error) {
	if f.store == nil {
		return 0, fs.ErrClosed
	}
	switch whence {
	case io.SeekCurrent:
		offset += f.pos
	case io.SeekEnd:
		offset += f.size
	}
	if offset < 0 || whence < io.SeekStart || whence > io.SeekEnd || f.size == unknownSize {
		return 0, &Error{Op: OpGet, Location: f.location, Err: fmt.Errorf("seek to %d: %w", offset, fs.ErrInvalid)}
	}
	f.pos = offset
	return offset, nil
}

// Close implements io.Closer.
func (f *file) Close() error {
	if f.store == nil {
		return fs.ErrClosed
	}
	f.drop()
	f.store = nil
	return nil
}

// ReadAt implements io.ReaderAt with one ranged GET.
func (f *file) ReadAt(p []byte, offset int64) (int, error) {
	if f.store == nil {
		return 0, fs.ErrClosed
	}
	return f.readerAt.ReadAt(p, offset)
}

// Stat implements fs.File without a request.
func (f *file) Stat() (fs.FileInfo, error) {
	return fileInfo{name: path.Base(f.location), size: f.size, modTime: f.modTime}, nil
}

// fileInfo implements fs.FileInfo for an object.
type fileInfo struct {
	name    string
	size    int64
	modTime time.Time
}

// Name returns the last element of the location.
func (i fileInfo) Name() string { return i.name }

// Size returns the size in bytes.
func (i fileInfo) Size() int64 { return i.size }

// Mode tells that an object is a regular file.
func (i fileInfo) Mode() fs.FileMode { return 0o444 }

// ModTime returns when the object was written.
func (i fileInfo) ModTime() time.Time { return i.modTime }

// IsDir returns false.
func (i fileInfo) IsDir() bool { return false }

// Sys returns nil.
func (i fileInfo) Sys() any { return nil }
