package model

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// TestRandomHistoriesKeepEveryDeletedRow draws histories. A failing one is printed as a script, as short as rapid could
// make it; put it into testdata.
func TestRandomHistoriesKeepEveryDeletedRow(t *testing.T) {
	t.Parallel()
	noted, total := map[string]float64{}, 0
	rapid.Check(t, func(t *rapid.T) {
		script := script(steps().Draw(t, "steps"))
		w := newWorld(t)
		defer func() {
			total += w.steps
			for what, n := range w.noted {
				noted[what] += n
			}
			if t.Failed() {
				t.Logf("script:\n%s", script)
			}
		}()
		w.run(parse(t, script))
	})
	t.Logf("%d steps: %v", total, noted)
}

func TestRecordedHistoriesKeepEveryDeletedRow(t *testing.T) {
	t.Parallel()
	scripts, err := filepath.Glob("testdata/*.txt")
	require.NoError(t, err)
	for _, path := range scripts {
		t.Run(filepath.Base(path), func(t *testing.T) {
			t.Parallel()
			text, err := os.ReadFile(path)
			require.NoError(t, err)
			newWorld(t).run(parse(t, string(text)))
		})
	}
}
