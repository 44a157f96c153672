package verify

import (
	"context"
	"fmt"
	"strings"

	"github.com/apache/iceberg-go"
	iceio "github.com/apache/iceberg-go/io"
	"github.com/apache/iceberg-go/table"
	"github.com/dvcompactor/dvcompactor/catalog"
	"github.com/dvcompactor/dvcompactor/snapshot"
)

// Vector is a deletion vector that a run added, as it was proved before the commit.
type Vector struct {
	DataFile    *snapshot.DataFile
	Puffin      string // location
	PuffinSize  int64  // bytes
	Offset      int64  // bytes
	Length      int64  // bytes
	Cardinality int64
	Seq         int64 // data sequence number, or [snapshot.Fresh]
}

func (v Vector) id() snapshot.FileID {
	return snapshot.FileID{Path: v.Puffin, Offset: v.Offset, Length: v.Length}
}

// Change is what a run means to have done.
type Change struct {
	Ref        string
	SnapshotID int64
	Operation  table.Operation
	Upgrade    bool // the table to format version 3
	Added      []Vector
	AddedFiles []snapshot.NewPositionDeletes
	Removed    map[snapshot.FileID]bool
	// Repaired are the data files whose deletes were meant to change.
	Repaired map[string]bool
	// Corrected are, by location, what the new manifest list was meant to say otherwise than the parent's.
	Corrected map[string]iceberg.ManifestFile
	Totals    map[string]int64 // of the summary, before the change, where they were counted anew
	Tag       string           // put on the parent, "" for none
	// Targets are, of each removed position delete file, the data files that its records apply to.
	Targets map[snapshot.FileID][]*snapshot.DataFile
	// Holders are, by the path of a data file, the position delete files among AddedFiles that have all of these records.
	Holders map[string]snapshot.FileID
}

// Input is what there is to compare.
type Input struct {
	Change
	Before *catalog.Table  // that the commit was made on
	Parent *snapshot.State // the head of its branch, as it was read from storage
	After  *catalog.Table  // as the catalog shows it now
	Now    *snapshot.State // the committed snapshot of it, read from storage
	// Old reads the manifests that the commit took out of the list. They may come from a cache of what was read before the
	// commit. New reads everything else, from storage.
	Old, New iceio.IO
	// Parallelism is how many manifests are read at once; at least 1.
	Parallelism int
}

// Check is one invariant that was compared.
type Check struct {
	Name     string `json:"check"`
	What     string `json:"what"`
	Compared int    `json:"compared"` // of the things that What names
}

// String is the check as a line of text.
func (c Check) String() string { return fmt.Sprintf("%s: %s", c.Name, c.What) }

// Difference is an invariant that does not hold.
type Difference struct {
	Check string
	What  string
}

// Error says that a committed snapshot is not what it should be.
type Error struct {
	Table            []string // identifier
	Ref              string
	Snapshot, Parent int64
	Differences      []Difference
	Err              error // why the comparison could not be finished, or nil
}

// Unwrap gives what could not be read.
func (e *Error) Unwrap() error { return e.Err }

// maxShown bounds how many differences an error text lists.
const maxShown = 10

// Error lists the differences and says what to do.
func (e *Error) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "snapshot %d, made of %d, ", e.Snapshot, e.Parent)
	if len(e.Differences) > 0 {
		b.WriteString("is not what was meant: ")
	} else {
		fmt.Fprintf(&b, "could not be compared: %v", e.Err)
	}
	for i, d := range e.Differences {
		if i == maxShown {
			fmt.Fprintf(&b, "; and %d more", len(e.Differences)-maxShown)
			break
		}
		if i > 0 {
			b.WriteString("; ")
		}
		fmt.Fprintf(&b, "%s: %s", d.Check, d.What)
	}
	fmt.Fprintf(&b, ". Nothing was rolled back. If %d is still the head of %s, this goes back: %s", e.Snapshot, e.Ref, e.RollBack())
	return b.String()
}

// RollBack is the statement that makes the parent the head of the branch again, for Spark; CATALOG stands for the name
// that the catalog has there.
func (e *Error) RollBack() string {
	name := strings.Join(e.Table, ".")
	if e.Ref == table.MainBranch {
		return fmt.Sprintf("CALL CATALOG.system.rollback_to_snapshot('%s', %d)", name, e.Parent)
	}
	return fmt.Sprintf("ALTER TABLE CATALOG.%s CREATE OR REPLACE BRANCH `%s` AS OF VERSION %d", name, e.Ref, e.Parent)
}

// Commit compares. The error is an [*Error]: an invariant does not hold, or something cannot be read. What was compared
// is returned in both cases.
func Commit(ctx context.Context, in Input) ([]Check, error) {
	c := &checker{Input: in, snap: in.Now.Snapshot, parent: in.Parent.Snapshot}
	c.snapshot()
	c.metadata()
	err := c.lists()
	if err == nil {
		err = c.manifests(ctx)
	}
	if err == nil {
		c.content()
		c.summary()
		err = c.puffins(ctx)
	}
	if len(c.differences) == 0 && err == nil {
		return c.checks, nil
	}
	return c.checks, &Error{Table: in.After.Identifier, Ref: in.Ref, Snapshot: c.snap.SnapshotID, Parent: c.parent.SnapshotID, Differences: c.differences, Err: err}
}

// checker gathers what was compared and what differs.
type checker struct {
	Input
	snap, parent *table.Snapshot
	checks       []Check
	differences  []Difference

	gone, came []iceberg.ManifestFile // delete manifests of the parent alone, and of the snapshot alone
	found      entries
	vectors    map[snapshot.FileID]Vector                       // Added, by what identifies them
	files      map[snapshot.FileID]*snapshot.NewPositionDeletes // AddedFiles
}

func (c *checker) compared(name string, n int, format string, args ...any) {
	c.checks = append(c.checks, Check{Name: name, What: fmt.Sprintf(format, args...), Compared: n})
}

func (c *checker) differ(name, format string, args ...any) {
	c.differences = append(c.differences, Difference{Check: name, What: fmt.Sprintf(format, args...)})
}

// want notes a difference of two values that should be equal.
func want[T comparable](c *checker, name, what string, got, want T) {
	if got != want {
		c.differ(name, "%s is %v, want %v", what, got, want)
	}
}
