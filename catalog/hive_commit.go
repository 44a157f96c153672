//go:build !nohive

package catalog

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"strconv"
	"strings"

	"github.com/apache/iceberg-go/table"
	"github.com/apache/thrift/lib/go/thrift"
	metastore "github.com/beltran/gohive/hive_metastore"
)

// errHiveUnchecked: the metastore alters tables whatever it is told to expect.
var errHiveUnchecked = errors.New("the metastore does not check what a commit expects")

// swing alters the table while its lock is held, or, where the table or the catalog says that no locks are taken, with
// nothing but the condition.
func (c *hivePointers) swing(ctx context.Context, from pointer, to written) (outcome, err error) {
	s := c.session()
	defer s.close()
	if !c.locks(to.metadata) {
		if err := s.checksConditions(ctx); err != nil {
			return c.pointed.untouched(err), err
		}
		return c.alter(ctx, s, from, to)
	}
	l, err := c.lock(ctx, s, from.identifier)
	if err != nil {
		return c.pointed.untouched(err), err
	}
	outcome, err = c.alterLocked(ctx, l, from, to)
	if left := l.release(ctx); err != nil {
		err = errors.Join(err, left) // a commit that happened is not undone by a lock that stays
	}
	return outcome, err
}

// locks says whether commits to a table take its lock.
func (c *hivePointers) locks(metadata table.Metadata) bool {
	value, there := metadata.Properties()[lockEnabled]
	if !there {
		return c.settings.locks
	}
	on, err := strconv.ParseBool(value)
	return on || err != nil
}

// conditional are the versions of metastores that compare a parameter before they alter a table (HIVE-26882). Those of
// Hive 2 and 3 do not tell theirs: all say 3.0.
func conditional() *regexp.Regexp {
	return regexp.MustCompile(`^(?:4\.0\.0-beta|4\.0\.0$|4\.0\.[1-9]|4\.[1-9]|[5-9]\.|[1-9]\d)`)
}

// checksConditions returns an error unless the metastore is known to check conditions.
func (s *hiveSession) checksConditions(ctx context.Context) (err error) {
	var version string
	err = s.call(ctx, func(ctx context.Context) error {
		version, err = s.client.GetVersion(ctx)
		return err
	})
	if err != nil || conditional().MatchString(version) {
		return err
	}
	return fmt.Errorf("%w: it says that it is version %.40q, and those before 4.0.0 may not (HIVE-26882); without locks two writers would undo each other's commits: "+
		"remove %s=false from the table and the catalog, or use a newer metastore", errHiveUnchecked, version, lockEnabled)
}

// alterLocked is alter with what the lock has to say to it.
func (c *hivePointers) alterLocked(ctx context.Context, l *hiveLock, from pointer, to written) (outcome, err error) {
	if err := l.held(); err != nil {
		return ErrConflict, err
	}
	if outcome, err = c.alter(ctx, l.session, from, to); err != nil {
		return outcome, err
	}
	if err := l.held(); err != nil {
		return ErrUnknown, fmt.Errorf("the metastore says that the commit is done, but others could commit meanwhile: %w", err)
	}
	return nil, nil
}

// alter reads the table again, compares, and alters it. The metastore compares once more if it can.
func (c *hivePointers) alter(ctx context.Context, s *hiveSession, from pointer, to written) (outcome, err error) {
	now, err := s.pointer(ctx, from.identifier)
	if err != nil {
		return c.pointed.untouched(err), err
	}
	if now.location != from.location {
		return ErrConflict, errMoved
	}
	t := hiveTable(now.entry.(*metastore.Table), from.location, to)
	condition := &metastore.EnvironmentContext{Properties: map[string]string{
		"expected_parameter_key": "metadata_location", "expected_parameter_value": from.location, "DO_NOT_UPDATE_STATS": "true",
	}}
	err = s.call(ctx, func(ctx context.Context) error {
		return s.client.AlterTableWithEnvironmentContext(ctx, t.DbName, t.TableName, t, condition)
	})
	switch {
	case err == nil:
		return nil, nil
	case strings.Contains(err.Error(), "The table has been modified"):
		return c.overtaken(ctx, from, to, err)
	}
	return hiveOutcome(err), err
}

// overtaken finds out what it means that the condition did not hold. A metastore repeats what failed in its database, so
// that it may be our own commit, which others may have committed to since.
func (c *hivePointers) overtaken(ctx context.Context, from pointer, to written, cause error) (outcome, err error) {
	now, err := c.read(ctx, from.identifier)
	switch {
	case errors.Is(err, ErrNotFound):
		return ErrRefused, errors.Join(cause, err)
	case err != nil:
		return ErrUnknown, errors.Join(cause, err)
	case now.location == to.location:
		return nil, nil
	}
	meta, _, err := readMetadata(ctx, c.store.ForTable(strings.Join(from.identifier, "."), now.location), now.location)
	if err != nil {
		return ErrUnknown, errors.Join(cause, err)
	}
	for earlier := range meta.PreviousFiles() {
		if earlier.MetadataFile == to.location {
			return nil, nil
		}
	}
	return ErrConflict, cause
}

// hiveTable is the table with the new pointer. What Java repeats of the metadata in the parameters is kept right where
// it is there; columns, statistics and everything else stay as they are.
func hiveTable(t *metastore.Table, from string, to written) *metastore.Table {
	changed := *t
	changed.Parameters = maps.Clone(t.Parameters)
	changed.Parameters["previous_metadata_location"], changed.Parameters["metadata_location"] = from, to.location
	repeated := map[string]string{
		"format-version": strconv.Itoa(to.metadata.Version()), "snapshot-count": strconv.Itoa(len(to.metadata.Snapshots())),
	}
	if head := to.metadata.CurrentSnapshot(); head != nil {
		repeated["current-snapshot-id"] = strconv.FormatInt(head.SnapshotID, 10)
		repeated["current-snapshot-timestamp-ms"] = strconv.FormatInt(head.TimestampMs, 10)
		repeated["current-snapshot-summary"] = summaryJSON(head.Summary)
	}
	for key, value := range repeated {
		if _, there := changed.Parameters[key]; there {
			changed.Parameters[key] = value
		}
	}
	return &changed
}

// summaryJSON is a snapshot's summary as Java writes it into a parameter: without the operation.
func summaryJSON(s *table.Summary) string {
	if s == nil || s.Properties == nil {
		return "{}"
	}
	text, _ := json.Marshal(s.Properties) // texts only
	return string(text)
}

// hiveOutcome classifies a failed alter_table. A metastore also says MetaException when it is done and somebody who
// listens to it fails.
func hiveOutcome(err error) error {
	var invalid *metastore.InvalidOperationException
	var gone *metastore.NoSuchObjectException
	var application thrift.TApplicationException
	switch {
	case errors.As(err, &invalid), errors.As(err, &gone):
		return ErrRefused
	case errors.As(err, &application) && application.TypeId() == thrift.UNKNOWN_METHOD:
		return ErrRefused
	}
	return ErrUnknown
}

// untouched classifies a failure before the table is altered. A metastore that does not answer may do so later.
func (c *hivePointers) untouched(err error) error {
	var application thrift.TApplicationException
	var internal *metastore.MetaException
	var lost *metastore.NoSuchLockException
	switch {
	case errors.Is(err, errHiveUnchecked):
		return ErrRefused
	case errors.Is(err, errHiveLocked), errors.As(err, &lost), errors.As(err, &internal):
		return ErrConflict
	case errors.As(err, &application):
		if application.TypeId() == thrift.INTERNAL_ERROR {
			return ErrConflict
		}
		return ErrRefused
	case hiveAnswered(err):
		return ErrRefused
	}
	return ErrConflict
}
