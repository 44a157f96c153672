package model

import (
	"flag"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

var (
	histories = flag.Int("histories", 120, "how many random histories to try")
	longest   = flag.Int("steps", 60, "how many steps a history has at most")
	firstSeed = flag.Uint64("seed", 0, "seed of the first history; 0 takes one from the clock")
	patience  = flag.Duration("shrink", 90*time.Second, "how long to make a failing history shorter")
)

// TestRandomHistoriesKeepEveryDeletedRow draws histories. A failing one is printed as a script, made as short as possible:
// put it into testdata.
func TestRandomHistoriesKeepEveryDeletedRow(t *testing.T) {
	t.Parallel()
	n, seed := *histories, *firstSeed
	if testing.Short() {
		n /= 10
	}
	if seed == 0 {
		seed = uint64(time.Now().UnixNano())
	}
	t.Logf("-seed %d -histories %d", seed, n)
	total := tally{noted: map[string]int{}}
	var wg sync.WaitGroup
	seeds := make(chan uint64)
	for range runtime.GOMAXPROCS(0) {
		wg.Go(func() {
			for s := range seeds {
				steps := draw(rand.New(rand.NewPCG(s, 0)), *longest)
				said, w := try(steps)
				total.add(w)
				if said != "" {
					fail(t, s, said, steps)
				}
			}
		})
	}
	for i := range uint64(n) {
		if t.Failed() {
			break
		}
		seeds <- seed + i
	}
	close(seeds)
	wg.Wait()
	t.Logf("%d steps; %v", total.steps, total.noted)
}

// fail tells how a history fails, and how what is left of it when it is made shorter: nothing when it fails now and then.
func fail(t *testing.T, seed uint64, said string, steps []step) {
	t.Errorf("the history of -seed %d fails: %s\nscript:\n%s", seed, said, script(steps))
	short := shrink(steps, *patience)
	said, _ = try(short)
	t.Errorf("shorter: %s\nscript:\n%s", said, script(short))
}

// tally adds up what happened in all histories.
type tally struct {
	mu    sync.Mutex
	steps int
	noted map[string]int
}

func (a *tally) add(w *world) {
	if w == nil {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.steps += w.steps
	for what, n := range w.noted {
		a.noted[what] += n
	}
}

func TestRecordedHistoriesKeepEveryDeletedRow(t *testing.T) {
	t.Parallel()
	scripts, err := filepath.Glob("testdata/*.txt")
	require.NoError(t, err)
	require.NotEmpty(t, scripts)
	for _, path := range scripts {
		t.Run(filepath.Base(path), func(t *testing.T) {
			t.Parallel()
			text, err := os.ReadFile(path)
			require.NoError(t, err)
			newWorld(t).run(parse(t, string(text)))
		})
	}
}
