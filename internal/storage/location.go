package storage

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// cloudLocation is a location of the form scheme://authority/key.
type cloudLocation struct {
	scheme, authority, key string
}

// maxLocation is the longest location in bytes: the longest key with a scheme and an authority before it.
const maxLocation = maxKey + 512

// CheckLocation refuses a location that is longer than any store allows, with [ErrRefusedLocation].
func CheckLocation(location string) error {
	if len(location) > maxLocation {
		return fmt.Errorf("%w: it has %d bytes, no store takes more than %d", ErrRefusedLocation, len(location), maxLocation)
	}
	return nil
}

// splitCloud cuts a location byte for byte.
func splitCloud(location string) (cloudLocation, error) {
	scheme, rest, found := strings.Cut(location, "://")
	if !found || scheme == "" || strings.ContainsAny(scheme, "/?#%:") {
		return cloudLocation{}, fmt.Errorf("%w: it has neither a scheme nor an absolute path", ErrInvalidLocation)
	}
	authority, key, found := strings.Cut(rest, "/")
	if authority == "" || !found || strings.ContainsFunc(authority, notInAuthority) {
		return cloudLocation{}, fmt.Errorf("%w: it is not of the form %s://bucket/key", ErrInvalidLocation, scheme)
	}
	return cloudLocation{scheme: strings.ToLower(scheme), authority: authority, key: key}, nil
}

// notInAuthority tells whether a bucket, container or account cannot have r in its name.
func notInAuthority(r rune) bool { return r <= ' ' || r > '~' || strings.ContainsRune(`?#%\`, r) }

// localKey returns the key below "/" of a local location and whether location is local.
func localKey(location string) (key string, local bool, err error) {
	rest, isFile := strings.CutPrefix(location, "file:")
	if !isFile {
		key, local = strings.CutPrefix(location, "/")
		return key, local, nil
	}
	if after, hasAuthority := strings.CutPrefix(rest, "//"); hasAuthority {
		host, path, _ := strings.Cut(after, "/")
		if host != "" && host != "localhost" {
			return "", true, fmt.Errorf("%w: local file on the other host %q", ErrInvalidLocation, host)
		}
		return path, true, nil
	}
	key, absolute := strings.CutPrefix(rest, "/")
	if !absolute {
		return "", true, fmt.Errorf("%w: local path is not absolute", ErrInvalidLocation)
	}
	return key, true, nil
}

// maxKey is the longest key in bytes: a local path has up to 4096, those of object stores are shorter.
const maxKey = 4096

// checkKey refuses keys that no store can hold or that lead out of the store.
func checkKey(key string) error {
	switch {
	case key == "":
		return fmt.Errorf("%w: the key is empty", ErrInvalidLocation)
	case len(key) > maxKey:
		return fmt.Errorf("%w: the key has %d bytes, no store takes more than %d", ErrRefusedLocation, len(key), maxKey)
	case strings.IndexByte(key, 0) >= 0:
		return fmt.Errorf("%w: the key contains NUL", ErrRefusedLocation)
	case !utf8.ValidString(key):
		return fmt.Errorf("%w: the key is not UTF-8", ErrInvalidLocation)
	case escapes(key):
		return fmt.Errorf("%w: the key leaves its store with \"..\"", ErrRefusedLocation)
	}
	return nil
}

// escapes tells whether the segments of key go above its start at any point.
func escapes(key string) bool {
	depth := 0
	for segment := range strings.SplitSeq(key, "/") {
		switch segment {
		case "", ".":
		case "..":
			depth--
		default:
			depth++
		}
		if depth < 0 {
			return true
		}
	}
	return false
}
