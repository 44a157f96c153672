//go:build !nohive

package catalog

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"os/user"
	"slices"
	"strconv"
	"strings"
	"time"

	metastore "github.com/beltran/gohive/hive_metastore"
	"github.com/dvcompactor/dvcompactor/internal/storage"
)

// hiveCatalog keeps its pointers in the parameters of tables in a Hive Metastore, as Java's HiveCatalog does. A commit
// takes the table's lock, compares metadata_location and alters the table, on the condition that it is still the same.
//
// It is our own instead of iceberg-go's because that one alters the table without comparing and asks with get_table,
// which metastores of version 4 do not have.
type hiveCatalog struct {
	pointed
	addresses []string // host:port, tried in turn
	options   Options
	settings  hiveSettings
}

// hiveSettings are the properties of a catalog that are about its locks, in the names that Java has for them.
type hiveSettings struct {
	locks bool          // engine.hive.lock-enabled, which a table may say otherwise
	wait  time.Duration // iceberg.hive.lock-timeout-ms: how long a lock is waited for
	beat  time.Duration // iceberg.hive.lock-heartbeat-interval-ms
}

const (
	lockEnabled   = "engine.hive.lock-enabled"
	lockTimeout   = "iceberg.hive.lock-timeout-ms"
	lockHeartbeat = "iceberg.hive.lock-heartbeat-interval-ms"
)

// hivePort is where metastores listen when the URI does not say.
const hivePort = "9083"

// defaultBeat is how often a held lock is confirmed. Metastores give up locks that were not for 5 minutes.
const defaultBeat = 30 * time.Second

func openHive(ctx context.Context, o Options) (Closer, error) {
	o.Timeout = cmp.Or(o.Timeout, defaultTimeout)
	addresses, err := hiveAddresses(o.URI)
	settings, badly := parseHive(o)
	if err = errors.Join(err, badly); err != nil {
		return nil, fmt.Errorf("catalog %s: %w", o.Name, err)
	}
	store, err := storage.Open(ctx, storage.Options{Mounts: o.Mounts, Properties: o.Properties, Retry: o.Retry, Observe: o.Observe})
	if err != nil {
		return nil, err
	}
	c := &hiveCatalog{pointed: pointed{name: o.Name, store: store}, addresses: addresses, options: o, settings: settings}
	c.pointers = &hivePointers{c}
	return c, nil
}

// hiveAddresses reads thrift://host:port,thrift://host:port.
func hiveAddresses(uri string) (out []string, err error) {
	for part := range strings.SplitSeq(uri, ",") {
		u, err := url.Parse(strings.TrimSpace(part))
		if err != nil || u.Scheme != "thrift" || u.Hostname() == "" || u.User != nil || strings.Trim(u.Path, "/") != "" || u.RawQuery != "" {
			return nil, errors.New("uri: want thrift://host:9083, several with commas between them")
		}
		out = append(out, net.JoinHostPort(u.Hostname(), cmp.Or(u.Port(), hivePort)))
	}
	return out, nil
}

// parseHive reads the properties, and refuses those that ask for what this client does not do.
func parseHive(o Options) (s hiveSettings, err error) {
	for _, key := range []string{
		"hive.metastore.sasl.enabled", "metastore.sasl.enabled", "hive.kerberos-authentication", "hive.metastore.use.SSL", "metastore.use.SSL",
	} {
		if on, _ := strconv.ParseBool(o.Properties[key]); on {
			err = errors.Join(err, fmt.Errorf("properties: %s: this program speaks to metastores without Kerberos and TLS only; "+
				"put a proxy on this machine that does, or use the metastore's REST catalog", key))
		}
	}
	s.locks = true
	if value, there := o.Properties[lockEnabled]; there {
		on, bad := strconv.ParseBool(value)
		if s.locks = on; bad != nil {
			err = errors.Join(err, fmt.Errorf("properties: %s: want true or false, got %q", lockEnabled, value))
		}
	}
	var wait, beat error
	s.wait, wait = milliseconds(o.Properties, lockTimeout, o.Timeout)
	s.beat, beat = milliseconds(o.Properties, lockHeartbeat, defaultBeat)
	return s, errors.Join(err, wait, beat)
}

func milliseconds(properties map[string]string, key string, otherwise time.Duration) (time.Duration, error) {
	value, there := properties[key]
	if !there {
		return otherwise, nil
	}
	n, err := strconv.ParseInt(value, 10, 32)
	if err != nil || n <= 0 {
		return 0, fmt.Errorf("properties: %s: want a number of milliseconds, got %q", key, value)
	}
	return time.Duration(n) * time.Millisecond, nil
}

// Close ends the use of the store. No connection outlives what it was made for.
func (c *hiveCatalog) Close() error { return c.store.Close() }

// Commits implements [Closer].
func (c *hiveCatalog) Commits() string {
	if c.settings.locks {
		return "a lock, and alter_table on condition of metadata_location"
	}
	return "alter_table on condition of metadata_location, without a lock"
}

// hiveBatch is how many tables are asked for at once.
const hiveBatch = 100

// List returns the Iceberg tables. Hive has one level of namespaces, its databases.
func (c *hiveCatalog) List(ctx context.Context, namespace []string) (out [][]string, err error) {
	if len(namespace) > 1 {
		return nil, nil
	}
	err = c.reading(ctx, func(s *hiveSession) error {
		out = nil
		databases, err := namespace, error(nil)
		if len(namespace) == 0 {
			databases, err = s.databases(ctx)
		}
		for i := 0; i < len(databases) && err == nil; i++ {
			var tables [][]string
			tables, err = s.icebergTables(ctx, databases[i])
			out = append(out, tables...)
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("listing catalog %s: %w", c.name, err)
	}
	return out, nil
}

// icebergTables returns those of a database; none when it was dropped meanwhile.
func (s *hiveSession) icebergTables(ctx context.Context, database string) (out [][]string, err error) {
	names, err := s.names(ctx, database)
	if err != nil {
		return nil, err
	}
	for batch := range slices.Chunk(names, hiveBatch) {
		tables, err := s.tables(ctx, database, batch)
		var gone *metastore.UnknownDBException
		if errors.As(err, &gone) {
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
		for _, t := range tables {
			if isIceberg(t.Parameters) {
				out = append(out, []string{t.DbName, t.TableName})
			}
		}
	}
	return out, nil
}

// hivePointers are the parameters of the tables.
type hivePointers struct{ *hiveCatalog }

// read asks for the table. Metastores know names in small letters only and find them in any spelling; the pointer has
// theirs.
func (c *hivePointers) read(ctx context.Context, identifier []string) (at pointer, err error) {
	if len(identifier) != 2 {
		return pointer{}, fmt.Errorf("%w: Hive has one level of namespaces", ErrNotFound)
	}
	err = c.reading(ctx, func(s *hiveSession) error {
		at, err = s.pointer(ctx, identifier)
		return err
	})
	return at, err
}

// pointer reads that of a table.
func (s *hiveSession) pointer(ctx context.Context, identifier []string) (pointer, error) {
	t, err := s.table(ctx, identifier[0], identifier[1])
	var gone *metastore.NoSuchObjectException
	switch {
	case errors.As(err, &gone):
		return pointer{}, ErrNotFound
	case err != nil:
		return pointer{}, err
	case t == nil || !strings.EqualFold(t.DbName, identifier[0]) || !strings.EqualFold(t.TableName, identifier[1]):
		return pointer{}, fmt.Errorf("%w: the metastore answers with another one", ErrNotFound)
	case !isIceberg(t.Parameters):
		return pointer{}, fmt.Errorf("%w: it is not an Iceberg table", ErrNotFound)
	}
	return pointer{identifier: []string{t.DbName, t.TableName}, location: t.Parameters["metadata_location"], entry: t}, nil
}

// hiveOwner is who a lock is said to belong to.
func hiveOwner() (name, host string) {
	name, host = "dvcompactor", "unknown"
	if u, err := user.Current(); err == nil {
		name = u.Username
	}
	if h, err := os.Hostname(); err == nil {
		host = h
	}
	return name, host
}
