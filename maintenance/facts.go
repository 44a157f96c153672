package maintenance

import (
	"github.com/dvcompactor/dvcompactor/snapshot"
)

// facts are what reading a position delete file taught: which live data files it really deletes rows of. The rule when
// it may be removed is decided by these, never by its column bounds.
type facts struct {
	file *snapshot.DeleteFile

	read      bool
	err       error                       // why it cannot be read
	targets   map[*snapshot.DataFile]bool // live data files it applies to
	unmatched map[string]bool             // paths that are not live in its partition
	stale     map[string]bool             // live paths that its referenced_data_file excludes
	younger   map[string]bool             // live paths of its partition with a larger data sequence number
	twins     map[string]snapshot.Twin    // of the unmatched paths
}

func newFacts(d *snapshot.DeleteFile) *facts {
	return &facts{file: d, targets: map[*snapshot.DataFile]bool{}, unmatched: map[string]bool{}, stale: map[string]bool{}, younger: map[string]bool{}}
}

// held says why the file must stay although every target is covered: some record names a data file that only almost
// exists, or that the entry says it is not about.
func (f *facts) held() (Skip, bool) {
	for path := range f.stale {
		return Skip{Reason: "delete-reference-stale", Location: f.file.Path, DataFile: path,
			Detail: "records name this live data file, but referenced_data_file is " + f.file.Referenced, Hint: hintCheck}, true
	}
	var near, elsewhere string
	for path := range f.unmatched {
		switch twin, ok := f.twins[path]; {
		case !ok:
		case twin.Exact:
			elsewhere = maxPath(elsewhere, path)
		default:
			near = maxPath(near, path)
		}
	}
	if near != "" {
		return Skip{Reason: "path-near-miss", Location: f.file.Path, DataFile: f.twins[near].Path,
			Detail: "records name " + near + ", which is not live, but this data file is", Hint: "if both are one object, repair with an alias; until then the records delete nothing and are kept"}, true
	}
	if elsewhere != "" && len(f.targets) == 0 {
		return Skip{Reason: "delete-partition", Location: f.file.Path, DataFile: elsewhere,
			Detail: "all records name data files of another spec or partition, to which they do not apply", Hint: hintCheck}, true
	}
	return Skip{}, false
}

// maxPath makes the choice among several paths independent of map order.
func maxPath(a, b string) string {
	if a > b {
		return a
	}
	return b
}
