package catalog

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"github.com/dvcompactor/dvcompactor/internal/storage"
	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

const (
	// lockWait is how long a SQLite database that somebody else has locked is waited for, within the time of a request.
	lockWait = 10 * time.Second
	// lockPause is the longest pause between two tries.
	lockPause = 25 * time.Millisecond
)

// patiently runs a statement within the time of a request, again and again while SQLite says that the database is
// locked: a statement that was told so has not happened. SQLite itself would wait without looking at the context.
func (c *sqlCatalog) patiently(ctx context.Context, statement func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	until := time.Now().Add(min(lockWait, c.timeout/2))
	for {
		err := statement(ctx)
		if !sqliteLocked(err) || time.Now().After(until) {
			return err
		}
		if werr := storage.Wait(ctx, rand.N(lockPause)); werr != nil {
			return errors.Join(werr, err)
		}
	}
}

func sqliteLocked(err error) bool {
	var lite *sqlite.Error
	if !errors.As(err, &lite) {
		return false
	}
	primary := lite.Code() & 0xff
	return primary == sqlite3.SQLITE_BUSY || primary == sqlite3.SQLITE_LOCKED
}
