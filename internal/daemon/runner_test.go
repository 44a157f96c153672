package daemon

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/table"
	"github.com/dvcompactor/dvcompactor/catalog"
	"github.com/dvcompactor/dvcompactor/config"
	"github.com/dvcompactor/dvcompactor/internal/storage"
	"github.com/dvcompactor/dvcompactor/internal/testlake"
	"github.com/dvcompactor/dvcompactor/internal/testlake/faults"
	"github.com/dvcompactor/dvcompactor/maintenance"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// bench runs policies on table lake.db.t of a lake.
type bench struct {
	t      *testing.T
	lake   *testlake.Lake
	cat    catalog.Catalog
	policy config.Policy
}

func newBench(t *testing.T, lake *testlake.Lake) *bench {
	return &bench{t, lake, lake.Catalog, config.Policy{Name: "p", Action: config.ActionCompact, Schedule: "@daily"}}
}

func compacted(t *testing.T) *bench { return newBench(t, testlake.Copy(t, "v3-many-puffins")) }

func (b *bench) run(ctx context.Context) Run {
	r := NewTables(TableOptions{
		Catalog: func(context.Context, string) (catalog.Catalog, error) { return b.cat, nil }, Now: time.Now, Lease: LeaseOptions{Owner: "me", Now: time.Now},
		Base: maintenance.Options{Memory: 64 << 20, Retry: maintenance.Retry{Attempts: 2, BaseDelay: time.Millisecond, MaxDelay: time.Millisecond}},
	})
	run := r.Run(ctx, Job{Key: Key{"lake.db.t", b.policy.Action == config.ActionCheck}, Policy: &b.policy})
	if run.lease != nil {
		require.NoError(b.t, run.lease.Release(ctx))
	}
	return run
}

// property sets a property of the table.
func (b *bench) property(name, value string) {
	loaded, err := b.lake.Catalog.Load(b.t.Context(), testlake.Ident("t"))
	require.NoError(b.t, err)
	err = b.lake.Catalog.Commit(b.t.Context(), loaded, nil, []table.Update{table.NewSetPropertiesUpdate(iceberg.Properties{name: value})})
	require.NoError(b.t, err)
}

// leases are the objects that say who works on the table.
func (b *bench) leases() []string {
	found, err := filepath.Glob(filepath.Join(b.lake.Dir, "t", "metadata", "dvcompactor", "*"))
	require.NoError(b.t, err)
	return found
}

func TestATableIsCompactedAndTheSecondTimeThereIsNothingToDo(t *testing.T) {
	t.Parallel()
	b := compacted(t)
	run := b.run(t.Context())
	require.Equal(t, ResultDone, run.Result, run.Error)
	assert.True(t, run.Committed)
	assert.Equal(t, 40, run.Before.PuffinFiles)
	assert.Equal(t, 1, run.After.PuffinFiles)
	assert.Equal(t, 40, run.Measures.PuffinFiles)
	assert.Equal(t, "no triggers: always", run.Why)
	assert.Positive(t, run.Bytes)
	assert.Positive(t, run.Requests)
	assert.Zero(t, run.Pending)
	assert.Empty(t, b.leases())
	run = b.run(t.Context())
	assert.Equal(t, ResultNothing, run.Result)
	assert.False(t, run.Committed)
	assert.Zero(t, run.Pending)
}

func TestATableWhoseTriggerDoesNotFireIsLeftAsItIs(t *testing.T) {
	t.Parallel()
	b := compacted(t)
	b.policy.Triggers.Any = []config.Trigger{{Name: "min_puffin_files", Least: 41}}
	files := b.lake.Files(t)
	run := b.run(t.Context())
	assert.Equal(t, ResultNothing, run.Result, run.Error)
	assert.Equal(t, "min_puffin_files 40 < 41", run.Why)
	assert.Equal(t, 40, run.Pending)
	assert.Positive(t, run.Requests, "the plan was made of manifests")
	assert.Positive(t, run.Bytes)
	assert.Equal(t, files, b.lake.Files(t))
	b.property("dvcompactor.min_puffin_files", "40")
	run = b.run(t.Context())
	assert.Equal(t, ResultDone, run.Result, run.Error)
	assert.Equal(t, "min_puffin_files 40 >= 40", run.Why)
}

func TestATableThatWantsToBeLeftAloneIs(t *testing.T) {
	t.Parallel()
	b := compacted(t)
	b.property("dvcompactor.enabled", "false")
	for _, action := range []string{config.ActionCompact, config.ActionMigrate, config.ActionCheck} {
		b.policy.Action = action
		run := b.run(t.Context())
		assert.Equal(t, ResultSkipped, run.Result, action)
		assert.False(t, run.Held(), "nobody has to resume it")
	}
}

func TestATableThatAnotherDaemonIsAtIsLocked(t *testing.T) {
	t.Parallel()
	b := compacted(t)
	loaded, err := b.lake.Catalog.Load(t.Context(), testlake.Ident("t"))
	require.NoError(t, err)
	root, err := storage.TableRoot(loaded.Metadata.Location())
	require.NoError(t, err)
	other, err := Acquire(t.Context(), loaded.Store, root, "main", LeaseOptions{Owner: "other", Now: time.Now})
	require.NoError(t, err)
	run := b.run(t.Context())
	assert.Equal(t, ResultLocked, run.Result)
	assert.Contains(t, run.Error, "other holds it")
	assert.True(t, run.Held())
	require.NoError(t, other.Release(t.Context()))
	assert.Equal(t, ResultDone, b.run(t.Context()).Result)
}

func TestARefusalHaltsATable(t *testing.T) {
	t.Parallel()
	b := newBench(t, testlake.Copy(t, "v2-dangling"))
	b.policy.Action = config.ActionMigrate
	b.policy.Ref = "main"
	b.property("encryption.key-id", "k")
	run := b.run(t.Context())
	assert.Equal(t, ResultHalted, run.Result, run.Error)
	assert.Empty(t, b.leases())
}

func TestARunEndsAtItsDeadlineAndWhenTheDaemonStops(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]Result{"deadline": ResultFailed, "stop": ResultInterrupted} {
		b := compacted(t)
		script := faults.New(t, "get *.avro: slow 1ms\nput *.puffin: slow 30s")
		b.cat = script.Lake(t, b.lake, storage.RetryOptions{Attempts: 1})
		ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
		if name == "stop" {
			ctx, cancel = context.WithCancel(t.Context())
			time.AfterFunc(300*time.Millisecond, cancel)
		}
		run := b.run(ctx)
		cancel()
		assert.Equal(t, want, run.Result, "%s: %s", name, run.Error)
		assert.False(t, run.Committed)
		assert.Empty(t, b.leases(), "%s: others may go on at once", name)
	}
}

func TestABucketThatRefusesFailsTheRunAndSaysSo(t *testing.T) {
	t.Parallel()
	for _, rule := range []string{"put *.puffin: fail", "get *.avro: 503", "put *lease*: fail", "list: fail", "load: 503"} {
		b := compacted(t)
		script := faults.New(t, rule)
		b.cat = script.Lake(t, b.lake, storage.RetryOptions{Attempts: 1})
		run := b.run(t.Context())
		assert.Equal(t, ResultFailed, run.Result, "%s: %s", rule, run.Error)
		assert.NotEmpty(t, run.Error)
		assert.False(t, run.Committed)
	}
}

func TestOtherWritersThatWinEveryRaceAreAConflict(t *testing.T) {
	t.Parallel()
	b := compacted(t)
	b.cat = faults.New(t, "commit: conflict").Lake(t, b.lake, storage.RetryOptions{Attempts: 1})
	run := b.run(t.Context())
	assert.Equal(t, ResultConflict, run.Result, run.Error)
	assert.Equal(t, 2, run.Attempts)
	assert.Equal(t, 40, run.Pending)
}

func TestACheckFindsDamageAndCountsItByIssue(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	require.NoError(t, os.CopyFS(dir, os.DirFS(filepath.Join(testlake.Root(t), "testdata", "damaged", "dv-corrupt-flip"))))
	b := newBench(t, testlake.Open(t, dir))
	b.policy.Action, b.policy.Level = config.ActionCheck, config.LevelVectors
	run := b.run(t.Context())
	assert.Equal(t, ResultDamaged, run.Result, run.Error)
	assert.Positive(t, run.Findings["dv-corrupt"])
	b.policy.Level, b.policy.Subset = config.LevelVectors, "nonsense"
	assert.Equal(t, ResultFailed, b.run(t.Context()).Result)
	healthy := compacted(t)
	healthy.policy.Action, healthy.policy.Level = config.ActionCheck, config.LevelFooters
	assert.Equal(t, ResultDone, healthy.run(t.Context()).Result)
}

func TestNamesOfBranchesAreNamesOfObjects(t *testing.T) {
	t.Parallel()
	assert.Equal(t, "main", leaseName("main"))
	assert.Equal(t, "a_b___c-d_1", leaseName("a/b..ü"+"c-d_1"))
}
