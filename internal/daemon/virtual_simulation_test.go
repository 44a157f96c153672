package daemon

import (
	"context"
	"fmt"
	"hash/fnv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/dvcompactor/dvcompactor/internal/testlake"
	"github.com/dvcompactor/dvcompactor/internal/testlake/restcatalog"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The catalog is listed in pages, by its real client; every tenth run loads its table.
func TestFiveThousandTablesOfARESTCatalogHaveEachRunOnceWhateverHappensToTheDaemon(t *testing.T) {
	t.Parallel()
	for start, n := range map[string]int{"2026-10-23T12:00:00Z": 5000, "2026-03-27T12:00:00Z": 1000} { // clocks are put back, and forward
		t.Run(start[:10], func(t *testing.T) {
			t.Parallel()
			if testing.Short() {
				n /= 10
			}
			location, mounts := oneFile(t, testlake.NewMetadata(t, "s3://lake/t", nil))
			rest := restcatalog.New(t, restcatalog.Options{Mounts: mounts, PageSize: 400})
			var tables []string
			for i := range n {
				id := []string{fmt.Sprintf("db%d", i%3), fmt.Sprintf("t%05d", i)}
				rest.Put(t, id, location)
				tables = append(tables, "c."+strings.Join(id, "."))
			}
			p := daily()
			p.Tables = []string{"*"}
			inEra(t, start, rest, mounts, func(e *era) { simulate(e, tables) }, *p)
		})
	}
}

// simulate lets days go by in which the daemon is stopped, killed, told to reload and shown wrong clocks.
func simulate(e *era, tables []string) {
	e.config.Daemon.Parallelism, e.config.Daemon.ParallelismPerCatalog = 200, 200
	e.config.Daemon.Discovery = 2 * time.Hour
	var loaded atomic.Int64
	e.work = func(ctx context.Context, j Job) Run {
		h := fnv.New32a()
		_, _ = h.Write([]byte(j.Table)) // never fails
		if h.Sum32()%10 == 0 {
			_, err := e.cat.Load(ctx, strings.Split(j.Table, ".")[1:])
			if err != nil && ctx.Err() == nil {
				return Run{Result: ResultFailed, Error: err.Error()}
			}
			loaded.Add(1)
		}
		// Never a whole number of milliseconds, so that no run begins at a moment at which the daemon is stopped: a connection
		// that is being made then would be kept.
		return e.sleep(ctx, time.Duration(h.Sum32()%60_000)*time.Millisecond+1700*time.Nanosecond)
	}
	from := e.now()
	e.begin()
	time.Sleep(time.Hour)
	require.Len(e.t, e.daemon.Status().Tables, len(tables))
	for i := range 12 {
		switch i % 6 {
		case 0:
			time.Sleep(12*time.Hour + 34*time.Minute) // until half of a night's runs are made
			e.restart()
		case 1:
			time.Sleep(5 * time.Minute)
			e.kill()
		case 2:
			time.Sleep(time.Hour)
			e.turn(-90 * time.Minute)
			again := *e.config
			e.daemon.Reload(&again)
		case 3:
			time.Sleep(3*time.Hour + 7*time.Minute)
			e.turn(90 * time.Minute)
		case 4:
			e.restart()
		case 5:
			time.Sleep(6*time.Hour + 21*time.Minute)
		}
	}
	time.Sleep(2 * time.Hour)
	e.end()
	e.eachOnce(&e.config.Policies[0], tables, from, e.now().Add(-time.Hour))
	assert.Positive(e.t, loaded.Load())
	assert.Greater(e.t, e.rest.Seen("list"), len(tables)/400)
}
