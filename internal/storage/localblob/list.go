package localblob

import (
	"context"
	"errors"
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

// walk returns the objects whose key starts with prefix, sorted by key.
func (b *bucket) walk(ctx context.Context, prefix string) ([]*driver.ListObject, error) {
	var objects []*driver.ListObject
	start := path.Clean("./" + prefix[:strings.LastIndexByte(prefix, '/')+1])
	err := b.tree.walk(start, func(fsys fs.FS, name string, entry fs.DirEntry, err error) error {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			return ignoreVanished(err)
		}
		object, err := listObject(fsys, name, entry)
		if object != nil && strings.HasPrefix(object.Key, prefix) {
			objects = append(objects, object)
		}
		return ignoreVanished(err)
	})
	slices.SortFunc(objects, func(x, y *driver.ListObject) int { return strings.Compare(x.Key, y.Key) })
	return objects, ignoreVanished(err)
}

// listObject returns nil for what is not an object: directories, temporary files, devices.
func listObject(fsys fs.FS, name string, entry fs.DirEntry) (*driver.ListObject, error) {
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
	return &driver.ListObject{Key: name, ModTime: info.ModTime(), Size: info.Size()}, nil
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
