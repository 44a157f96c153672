// Package catalog connects to Iceberg catalogs: it loads and lists tables and commits to them with a known outcome.
//
// A commit ends in one of four ways, and what may be done next depends on which:
//
//   - committed: the error is nil;
//   - conflict ([ErrConflict]): nothing of ours is visible, and trying again makes sense. Somebody else committed first,
//     or the request never reached the catalog. Reload, rebase, retry;
//   - unknown ([ErrUnknown]): the reply was lost or makes no sense. Nothing that was written may be deleted; reload and
//     look for the own snapshot id;
//   - refused ([ErrRefused]): the catalog said no. Nothing is visible; do not retry.
package catalog

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/apache/iceberg-go/table"
	"github.com/dvcompactor/dvcompactor/internal/storage"
)

// Outcomes of a commit that did not return nil, and reasons why a table cannot be loaded. Test with errors.Is.
var (
	ErrConflict = errors.New("commit conflict")
	ErrUnknown  = errors.New("commit outcome unknown")
	ErrRefused  = errors.New("commit refused")
	ErrNotFound = errors.New("no such table")
	// ErrFormatVersion: the table's format version is newer than this program knows, or none at all.
	ErrFormatVersion = errors.New("format version is not one of 1, 2, 3")
)

// Table is a table as its catalog described it at one moment.
type Table struct {
	Catalog          string   // name of the catalog in the configuration
	Identifier       []string // namespace levels, then the table name
	Metadata         table.Metadata
	MetadataLocation string
	Store            *storage.Store // reads and writes the table's objects
}

// Name returns "catalog.namespace.table".
func (t *Table) Name() string { return strings.Join(append([]string{t.Catalog}, t.Identifier...), ".") }

// Catalog is what maintenance needs of a catalog. Implementations are safe for concurrent use.
type Catalog interface {
	// Load reads the current metadata of a table. The error is ErrNotFound when there is none of that name.
	Load(ctx context.Context, identifier []string) (*Table, error)
	// Commit applies updates if the requirements hold, atomically. See the package comment for its errors.
	//
	// The updates were made for the metadata of t: when the catalog has other metadata by now, the outcome may be
	// ErrConflict although every requirement holds.
	Commit(ctx context.Context, t *Table, requirements []table.Requirement, updates []table.Update) error
	// List returns the identifiers of all tables below a namespace, of all namespaces when it is empty. There are none
	// below a namespace that does not exist. Views are not tables.
	List(ctx context.Context, namespace []string) ([][]string, error)
}

// CommitError is a commit that did not succeed, or whose success is not known.
type CommitError struct {
	Outcome error // ErrConflict, ErrUnknown or ErrRefused
	Table   string
	Err     error
	// RetryAfter is for how long the catalog asked not to be called again, within [storage.RetryOptions.MaxAsked]; 0
	// when it did not.
	RetryAfter time.Duration
}

// Error says which table, which outcome and why.
func (e *CommitError) Error() string { return fmt.Sprintf("%s: %v: %v", e.Table, e.Outcome, e.Err) }

// Unwrap lets errors.Is find both the outcome and the cause.
func (e *CommitError) Unwrap() []error { return []error{e.Outcome, e.Err} }

// lostRace says that a requirement of a commit did not hold. Catalogs that check requirements with iceberg-go, or behind
// an interface that knows no conflicts, say so in plain text only.
func lostRace(err error) bool {
	return err != nil && strings.Contains(strings.ToLower(err.Error()), "requirement failed")
}

// Options describe one catalog.
type Options struct {
	Name      string
	Type      string // "sql", "rest", "glue" or "hive"
	URI       string // sqlite:///ABSOLUTE/catalog.db, postgres://..., mysql://..., https://...; for glue an endpoint, or empty for that of the region; thrift://host:9083
	Warehouse string

	// REST only.
	Credential, Token, Scope, OAuth2ServerURI string
	SigV4                                     bool
	SigV4Region, SigV4Name                    string
	Headers                                   map[string]string
	TLS                                       TLSOptions

	// Timeout bounds one request to the catalog; 0 means 2 minutes. For a locked SQLite database it is at most 10 s.
	Timeout time.Duration

	// Properties pass through to the catalog and to the file IO of its tables.
	Properties map[string]string
	// Mounts say where location prefixes really are.
	Mounts []storage.Mount
	// Retry says how often a request to a store is sent, and a request to load or to list, and with what pauses. A commit
	// is sent once.
	Retry storage.RetryOptions
	// Observe, if set, is told of every request to a store: see [storage.Options.Observe].
	Observe func(op storage.Op, took time.Duration, err error) `json:"-"`
}

// TLSOptions are certificate files for a REST catalog.
type TLSOptions struct {
	CAFile, CertFile, KeyFile string
	InsecureSkipVerify        bool
}

// Closer is a catalog that holds connections.
type Closer interface {
	Catalog
	Close() error
	// Commits says in a few words what a commit relies on.
	Commits() string
}

// Open connects to a catalog.
func Open(ctx context.Context, o Options) (Closer, error) {
	switch o.Type {
	case "sql":
		return openSQL(ctx, o)
	case "rest":
		return openREST(ctx, o)
	case "glue":
		return openGlue(ctx, o)
	case "hive":
		return openHive(ctx, o)
	case "hadoop":
		return nil, fmt.Errorf("catalog %s: a hadoop catalog has no compare-and-swap: of two writers that rename to the same version both may succeed; "+
			"register its tables in another catalog", o.Name)
	}
	return nil, fmt.Errorf("catalog %s: type %q is not one of sql, rest, glue, hive", o.Name, o.Type)
}
