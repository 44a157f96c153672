package localblob

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"gocloud.dev/blob/driver"
)

// ListPaged implements driver.Bucket. It walks the directory of the prefix anew for every page; without a page size
// there is one page. Links to directories are not followed.
func (b *bucket) ListPaged(ctx context.Context, opts *driver.ListOptions) (*driver.ListPage, error) {
	if opts.BeforeList != nil {
		if err := opts.BeforeList(func(any) bool { return false }); err != nil {
			return nil, err
		}
	}
	objects, err := b.walk(ctx, opts.Prefix)
	if err != nil {
		return nil, err
	}
	objects = collapse(objects, opts.Prefix, opts.Delimiter)
	token := string(opts.PageToken)
	start, found := slices.BinarySearchFunc(objects, token, func(o *driver.ListObject, key string) int {
		return strings.Compare(o.Key, key)
	})
	if found {
		start++
	}
	page := &driver.ListPage{Objects: objects[start:]}
	if opts.PageSize > 0 && len(page.Objects) > opts.PageSize {
		page.Objects = page.Objects[:opts.PageSize]
		page.NextPageToken = []byte(page.Objects[opts.PageSize-1].Key)
	}
	return page, nil
}

// walk returns the objects whose key starts with prefix, sorted by key. The directory of the prefix is kept as it is
// spelled: the file system takes "a//b" for "a/b", but keys do not.
func (b *bucket) walk(ctx context.Context, prefix string) ([]*driver.ListObject, error) {
	dir := prefix[:strings.LastIndexByte(prefix, '/')+1]
	start := path.Clean("./" + dir)
	if start == ".." || strings.HasPrefix(start, "../") {
		return nil, fmt.Errorf("%w: prefix %q leads outside", ErrInvalidKey, prefix)
	}
	var objects []*driver.ListObject
	err := b.tree.walk(start, func(fsys fs.FS, name string, entry fs.DirEntry, err error) error {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil || name == start {
			return ignoreVanished(err)
		}
		key := dir + strings.TrimPrefix(name, start+"/")
		if !strings.HasPrefix(key, prefix) {
			return nil
		}
		object, err := listObject(fsys, name, key, entry)
		if object != nil {
			objects = append(objects, object)
		}
		return ignoreVanished(err)
	})
	slices.SortFunc(objects, func(x, y *driver.ListObject) int { return strings.Compare(x.Key, y.Key) })
	return objects, ignoreVanished(err)
}

// listObject returns nil for what is not an object: directories, temporary files, devices.
func listObject(fsys fs.FS, name, key string, entry fs.DirEntry) (*driver.ListObject, error) {
	if entry.IsDir() || strings.HasPrefix(entry.Name(), TempPrefix) {
		return nil, nil
	}
	info, err := entry.Info()
	if err == nil && info.Mode()&fs.ModeSymlink != 0 {
		info, err = fs.Stat(fsys, name)
	}
	if err != nil || !info.Mode().IsRegular() {
		return nil, err
	}
	return &driver.ListObject{Key: key, ModTime: info.ModTime(), Size: info.Size()}, nil
}

// ignoreVanished lets a listing go on when a file or directory was removed while it ran.
func ignoreVanished(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// collapse replaces the objects below each "directory" by one entry when there is a delimiter.
func collapse(objects []*driver.ListObject, prefix, delimiter string) []*driver.ListObject {
	if delimiter == "" {
		return objects
	}
	var out []*driver.ListObject
	for _, o := range objects {
		if i := strings.Index(o.Key[len(prefix):], delimiter); i >= 0 {
			o = &driver.ListObject{Key: o.Key[:len(prefix)+i+len(delimiter)], IsDir: true}
		}
		if n := len(out); n > 0 && o.IsDir && out[n-1].Key == o.Key {
			continue
		}
		out = append(out, o)
	}
	return out
}
