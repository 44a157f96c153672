package localblob

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"gocloud.dev/blob"
	"gocloud.dev/blob/driver"
	"gocloud.dev/gcerrors"
)

// TempPrefix starts the base name of every file that is still being written.
const TempPrefix = ".dvcompactor-tmp-"

// ErrInvalidKey is wrapped by the error of every operation on a key that cannot name a file of the bucket.
var ErrInvalidKey = errors.New("key cannot be a file name here")

var errUnimplemented = errors.New("localblob does not support this operation")

// Options configures [OpenBucket].
type Options struct {
	// Dir is the absolute path of the folder that holds the objects. It is made by the first write when it is missing.
	Dir string
}

// OpenBucket returns a bucket over the folder opts.Dir.
func OpenBucket(opts Options) (*blob.Bucket, error) {
	if !filepath.IsAbs(opts.Dir) {
		return nil, fmt.Errorf("localblob: folder %q is not an absolute path", opts.Dir)
	}
	t := tree{dir: filepath.Clean(opts.Dir)}
	return blob.NewBucket(&bucket{tree: t, dirs: dirs{tree: t}}), nil
}

// bucket implements driver.Bucket.
type bucket struct {
	tree tree
	dirs dirs
}

// Close implements driver.Bucket. Nothing is held open between operations.
func (b *bucket) Close() error { return nil }

// As implements driver.Bucket.
func (b *bucket) As(any) bool { return false }

// ErrorAs implements driver.Bucket: the errors are *fs.PathError and *os.LinkError.
func (b *bucket) ErrorAs(err error, target any) bool { return errors.As(err, target) }

// ErrorCode implements driver.Bucket.
func (b *bucket) ErrorCode(err error) gcerrors.ErrorCode {
	switch {
	case errors.Is(err, ErrInvalidKey), errors.Is(err, fs.ErrInvalid):
		return gcerrors.InvalidArgument
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR): // below a file there is nothing
		return gcerrors.NotFound
	case errors.Is(err, fs.ErrExist):
		return gcerrors.FailedPrecondition
	case errors.Is(err, fs.ErrPermission):
		return gcerrors.PermissionDenied
	case errors.Is(err, errUnimplemented):
		return gcerrors.Unimplemented
	default:
		return gcerrors.Unknown
	}
}

// Attributes implements driver.Bucket.
func (b *bucket) Attributes(ctx context.Context, key string) (*driver.Attributes, error) {
	name, err := fileName(ctx, key)
	if err != nil {
		return nil, err
	}
	info, err := b.tree.stat(name)
	if err != nil {
		return nil, err
	}
	if err := regular("stat", key, info); err != nil {
		return nil, err
	}
	return &driver.Attributes{
		ContentType: contentType,
		ModTime:     info.ModTime(),
		Size:        info.Size(),
		ETag:        fmt.Sprintf("\"%x-%x\"", info.ModTime().UnixNano(), info.Size()),
	}, nil
}

// Delete implements driver.Bucket. The removal is not synced: an object that comes back after a power cut was
// unreferenced when it was deleted, so it costs space and nothing else.
func (b *bucket) Delete(ctx context.Context, key string) error {
	name, err := fileName(ctx, key)
	if err != nil {
		return err
	}
	info, err := b.tree.lstat(name)
	if err != nil {
		return err
	}
	if info.IsDir() { // remove would succeed on an empty directory
		return notExist("remove", key)
	}
	return b.tree.remove(name)
}

// Copy implements driver.Bucket; it is not supported.
func (b *bucket) Copy(context.Context, string, string, *driver.CopyOptions) error {
	return errUnimplemented
}

// SignedURL implements driver.Bucket; it is not supported.
func (b *bucket) SignedURL(context.Context, string, *driver.SignedURLOptions) (string, error) {
	return "", errUnimplemented
}

const contentType = "application/octet-stream"

// fileName returns the path of key relative to the folder. The leading "./" keeps a key that starts with a slash
// relative, as the file system itself would read folder + "/" + key.
func fileName(ctx context.Context, key string) (string, error) {
	if err := ctx.Err(); err != nil {
		return "", err
	}
	base := key[strings.LastIndexByte(key, '/')+1:]
	switch {
	case strings.IndexByte(key, 0) >= 0:
		return "", fmt.Errorf("%w: %q contains NUL", ErrInvalidKey, key)
	case base == "" || base == "." || base == "..":
		return "", fmt.Errorf("%w: %q names a directory", ErrInvalidKey, key)
	case strings.HasPrefix(base, TempPrefix):
		return "", fmt.Errorf("%w: %q is reserved for temporary files", ErrInvalidKey, key)
	}
	return "./" + key, nil
}

// regular says whether a file is an object: a directory is none, and a device or pipe has no bytes of its own.
func regular(op, key string, info fs.FileInfo) error {
	switch {
	case info.IsDir():
		return notExist(op, key)
	case !info.Mode().IsRegular():
		return &fs.PathError{Op: op, Path: key, Err: fmt.Errorf("%w: it is not a regular file", ErrInvalidKey)}
	}
	return nil
}

func notExist(op, key string) error {
	return &fs.PathError{Op: op, Path: key, Err: fs.ErrNotExist}
}

// NewRangeReader implements driver.Bucket.
func (b *bucket) NewRangeReader(ctx context.Context, key string, offset, length int64, opts *driver.ReaderOptions) (driver.Reader, error) {
	name, err := fileName(ctx, key)
	if err != nil {
		return nil, err
	}
	if opts.BeforeRead != nil {
		if err := opts.BeforeRead(func(any) bool { return false }); err != nil {
			return nil, err
		}
	}
	f, err := b.tree.openFile(name, os.O_RDONLY|syscall.O_NONBLOCK) // a named pipe must not block
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil {
		err = regular("open", key, info)
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	if length < 0 {
		length = max(info.Size()-offset, 0)
	}
	return &reader{
		ctx:   ctx,
		file:  f,
		body:  io.NewSectionReader(f, offset, length),
		attrs: driver.ReaderAttributes{ContentType: contentType, ModTime: info.ModTime(), Size: info.Size()},
	}, nil
}

// reader implements driver.Reader with positional reads.
type reader struct {
	ctx   context.Context
	file  io.Closer
	body  io.Reader
	attrs driver.ReaderAttributes
}

// Read implements io.Reader.
func (r *reader) Read(p []byte) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	return r.body.Read(p)
}

// Close implements io.Closer.
func (r *reader) Close() error { return r.file.Close() }

// Attributes implements driver.Reader.
func (r *reader) Attributes() *driver.ReaderAttributes { return &r.attrs }

// As implements driver.Reader.
func (r *reader) As(any) bool { return false }
