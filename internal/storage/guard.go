package storage

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// ErrRefusedLocation tells that a table's metadata names a location that a table may not name: a local file when the
// table itself is in a cloud store or below a mount, a key that leaves its store, a location longer than any store
// allows, or a table location that is no place for a table. It is also an [ErrInvalidLocation].
var ErrRefusedLocation error = &mark{"location refused", ErrInvalidLocation}

// guard is what the metadata of one table may reach. The zero value refuses nothing: it is for locations that the
// operator gave.
type guard struct {
	table string
	// away says that the table is not made of plain local files, so that it has no business with any.
	away bool
}

// ForTable returns the same store for what the metadata of a table names, which is not trusted. metadataLocation is
// where the catalog says the table's metadata is. The table may name objects of any store that is configured, for it may
// have its data in another bucket; but plain local files, those that no mount covers, only when its own metadata is
// one. So a table below a mount never leaves the folders that are mapped.
//
// Buckets are shared, counters only by what is made for the same table: tables that are worked on at the same time do not
// count each other's requests.
func (s *Store) ForTable(table, metadataLocation string) *Store {
	g := guard{table: table, away: !s.plainLocal(metadataLocation)}
	if g == s.guard {
		return s
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	own := s.tables[table]
	if own == nil {
		own = &counters{}
		s.tables[table] = own
	}
	return &Store{core: s.core, guard: g, counters: own}
}

// plainLocal tells whether location is a local file that no mount covers.
func (s *Store) plainLocal(location string) bool {
	_, mounted := s.mountOf(location)
	_, local, _ := localKey(location)
	return local && !mounted
}

// refuseLocal is the error for a plain local file that the table may not name, or nil.
func (g guard) refuseLocal(location string) error {
	if !g.away {
		return nil
	}
	dir := location[:strings.LastIndexByte(location, '/')+1]
	return fmt.Errorf("%w: the metadata of table %s names a local file, but the table is not local; if that is right, map the folder under storage: as {prefix: %q, url: ...}",
		ErrRefusedLocation, g.table, Shown(dir))
}

// TableRoot returns the location of a table without the slashes at its end: everything that is written for the table
// goes below it. A location that is no place for a table gives [ErrRefusedLocation]: none, the root of the local file
// system, one that no store can hold, or one with ".." in its path. A relative one is for a mount to resolve.
func TableRoot(location string) (string, error) {
	root := strings.TrimRight(location, "/")
	key, local, err := localKey(root + "/")
	if err == nil && !local {
		key, err = keyOfRoot(root)
	}
	switch {
	case location == "":
		return "", refusedRoot(location, "it names nothing")
	case err != nil:
		return "", refusedRoot(location, err.Error())
	case local && strings.Trim(key, "/") == "":
		return "", refusedRoot(location, "it is the root of the file system")
	case slices.Contains(strings.Split(key, "/"), ".."):
		return "", refusedRoot(location, `its path has a ".."`)
	}
	if err := checkKey(key + "x"); err != nil {
		return "", refusedRoot(location, err.Error())
	}
	return root, nil
}

// keyOfRoot returns the key of a table location that is not local.
func keyOfRoot(root string) (string, error) {
	if !strings.Contains(root, ":") {
		return root + "/", nil
	}
	loc, err := splitCloud(root + "/")
	return loc.key, err
}

func refusedRoot(location, why string) error {
	return fmt.Errorf("%w: a table cannot be at %q: %s", ErrRefusedLocation, Shown(location), why)
}

// unclean tells whether a segment of key is "." or "..".
func unclean(key string) bool {
	for segment := range strings.SplitSeq(key, "/") {
		if segment == "." || segment == ".." {
			return true
		}
	}
	return false
}

// WriteDir returns where files of a table go: the folder that a table property asks for when that is the table's
// location or below it, else root + "/" + name. root is what [TableRoot] returned. A property is metadata, and metadata
// does not decide that something is written outside of the table's location.
func WriteDir(root, property, name string) string {
	if rest, ok := strings.CutPrefix(property, root); ok && !unclean(rest) && (rest == "" || rest[0] == '/') {
		dir := strings.TrimRight(property, "/")
		if checkKey(strings.TrimPrefix(dir, root)+"/x") == nil {
			return dir
		}
	}
	return root + "/" + name
}

// shownBytes is how much of a location is shown in errors.
const shownBytes = 1 << 10

// Shown returns a location fit for an error or a log: cut when it is very long, and without control characters.
func Shown(location string) string {
	text := location
	if len(text) > shownBytes {
		text = fmt.Sprintf("%s... (%d bytes)", strings.ToValidUTF8(text[:shownBytes], ""), len(location))
	}
	if strings.ContainsFunc(text, func(r rune) bool { return !strconv.IsPrint(r) }) {
		quoted := strconv.Quote(text)
		text = quoted[1 : len(quoted)-1]
	}
	return text
}
