package snapshot

import (
	"context"
	"fmt"
	"net/url"
	"strings"
	"sync"

	"github.com/apache/iceberg-go"
	iceio "github.com/apache/iceberg-go/io"
)

// Twin is the live data file that a path, live nowhere in the partition it was looked for in, seems to mean.
type Twin struct {
	Path string
	// Exact says that the path itself is live, in another partition or under another spec. Deletes that name it from
	// elsewhere do not apply to it.
	Exact bool
}

// Twins looks for paths among all live data files of the snapshot, byte by byte first, then as near misses: another
// spelling of the scheme or authority, doubled slashes, percent-encoding, letter case, or the same path relative to
// another table location. A path without a twin is dangling. It reads the data manifests once, and nothing when paths
// is empty.
func (s *State) Twins(ctx context.Context, fs iceio.IO, paths []string) (map[string]Twin, error) {
	if len(paths) == 0 {
		return map[string]Twin{}, nil
	}
	t := newTwinIndex(s.Metadata.Location(), paths)
	l := &loader{fs: fs, meta: s.Metadata, parallelism: 4, state: s}
	err := l.each(ctx, iceberg.ManifestContentData, func(_ iceberg.ManifestFile, e iceberg.ManifestEntry) error {
		t.see(e.DataFile().FilePath())
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("looking for live data files: %w", err)
	}
	return t.found, nil
}

// twinIndex holds the paths looked for under every key that a live path may have in common with them.
type twinIndex struct {
	location string // key of the table location
	exact    map[string]bool
	byKey    map[string][]string
	bySuffix map[string][]string

	mu    sync.Mutex
	found map[string]Twin
}

func newTwinIndex(location string, paths []string) *twinIndex {
	t := &twinIndex{location: pathKey(location) + "/", exact: map[string]bool{}, byKey: map[string][]string{}, bySuffix: map[string][]string{}, found: map[string]Twin{}}
	for _, p := range paths {
		key := pathKey(p)
		t.exact[p] = true
		t.byKey[key] = append(t.byKey[key], p)
		for rest := key; ; {
			_, after, more := strings.Cut(rest, "/")
			if !more {
				break
			}
			t.bySuffix[after] = append(t.bySuffix[after], p)
			rest = after
		}
	}
	return t
}

// see compares one live path with those looked for.
func (t *twinIndex) see(live string) {
	key := pathKey(live)
	var near []string
	near = append(near, t.byKey[key]...)
	if relative, under := strings.CutPrefix(key, t.location); under {
		near = append(near, t.bySuffix[relative]...)
	}
	if len(near) == 0 {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.exact[live] {
		t.found[live] = Twin{Path: live, Exact: true}
	}
	for _, p := range near {
		old, seen := t.found[p]
		if p != live && (!seen || !old.Exact && live < old.Path) { // the smallest, so that the answer does not depend on the order
			t.found[p] = Twin{Path: live}
		}
	}
}

// pathKey maps a location to what all its spellings share: the path without scheme and authority, percent-decoded,
// without doubled slashes, in lower case. Two objects may share a key; it is for finding suspects only.
func pathKey(location string) string {
	rest := location
	if scheme, after, ok := strings.Cut(location, ":"); ok && scheme != "" && !strings.ContainsAny(scheme, "/%") {
		rest = after
		if authority, ok := strings.CutPrefix(after, "//"); ok {
			if i := strings.IndexByte(authority, '/'); i >= 0 {
				rest = authority[i:]
			} else {
				rest = ""
			}
		}
	}
	if decoded, err := url.PathUnescape(rest); err == nil {
		rest = decoded
	}
	for strings.Contains(rest, "//") {
		rest = strings.ReplaceAll(rest, "//", "/")
	}
	return strings.ToLower(strings.TrimSuffix("/"+strings.TrimLeft(rest, "/"), "/"))
}
