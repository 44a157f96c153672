package storage

import (
	"context"
	"fmt"
	"io/fs"
	"strings"
)

// target is one object in its bucket.
type target struct {
	bucket
	key string
	// version is the one to read; empty for the current one.
	version string
}

// resolve finds the bucket and key of a location.
func (s *Store) resolve(ctx context.Context, location string) (target, error) {
	b, key, err := s.find(ctx, location)
	if err != nil {
		return target{}, err
	}
	if err := checkKey(key); err != nil {
		return target{}, err
	}
	return target{bucket: b, key: b.prefix + key}, nil
}

// find is resolve without a check of the key, which for a listing may be empty.
func (s *Store) find(ctx context.Context, location string) (bucket, string, error) {
	if s.isClosed() {
		return bucket{}, "", fmt.Errorf("storage: %w", fs.ErrClosed)
	}
	if err := CheckLocation(location); err != nil {
		return bucket{}, "", err
	}
	if m, ok := s.mountOf(location); ok {
		return m.bucket, location[len(m.prefix):], nil
	}
	key, local, err := localKey(location)
	if local {
		if refused := s.guard.refuseLocal(location); refused != nil {
			return bucket{}, "", refused
		}
	}
	if err != nil {
		return bucket{}, "", err
	}
	if local {
		return bucket{blob: s.local, local: true}, key, nil
	}
	loc, err := splitCloud(location)
	if err != nil {
		return bucket{}, "", err
	}
	b, err := s.cloud(ctx, location, loc)
	return b, loc.key, err
}

// mountOf returns the mount with the longest prefix of location.
func (s *Store) mountOf(location string) (mounted, bool) {
	for _, m := range s.mounts {
		if strings.HasPrefix(location, m.prefix) {
			return m, true
		}
	}
	return mounted{}, false
}

// cloud returns the bucket of a location without a mount: the caller's, else our own, opened once.
func (s *Store) cloud(ctx context.Context, location string, loc cloudLocation) (bucket, error) {
	if s.opts.Fallback != nil {
		b, err := s.opts.Fallback(ctx, location)
		if err != nil {
			return bucket{}, err
		}
		if b != nil {
			return portable(b, loc.authority), nil
		}
	}
	root := cloudRoot{scheme: loc.scheme, authority: loc.authority}
	s.mu.Lock()
	o := s.opened[root]
	if o == nil {
		o = &opening{}
		s.opened[root] = o
	}
	s.mu.Unlock()
	o.once.Do(func() { o.bucket, o.err = s.openCloud(ctx, loc) })
	if o.err != nil { // it may work the next time, with other credentials in the environment for instance
		s.forget(root, o)
	}
	return o.bucket, o.err
}

func (s *Store) forget(root cloudRoot, o *opening) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.opened[root] == o {
		delete(s.opened, root)
	}
}

func (s *Store) isClosed() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.closed
}
