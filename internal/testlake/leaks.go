package testlake

import (
	"bytes"
	"context"
	"fmt"
	"runtime/pprof"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// LeavesNothingRunning runs something and fails the test when goroutines that were started by it, directly or not, go on
// after it has returned. They are told from those of other tests by a label, which goroutines inherit; so what they
// cause in servers that were started before does not count.
func LeavesNothingRunning(t testing.TB, do func(ctx context.Context)) {
	const patience = 20 * time.Second
	id := t.Name()
	done := make(chan struct{})
	go func() {
		defer close(done)
		pprof.Do(t.Context(), pprof.Labels("leaves-nothing", id), do)
	}()
	<-done
	var left []string
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		if left = labelled(t, id); len(left) == 0 {
			return
		}
	}
	t.Errorf("%d goroutines go on:\n%s", len(left), strings.Join(left, "\n\n"))
}

// labelled returns the stacks of the goroutines with a label.
func labelled(t testing.TB, id string) []string {
	var b bytes.Buffer
	require.NoError(t, pprof.Lookup("goroutine").WriteTo(&b, 1))
	var out []string
	for _, stack := range strings.Split(b.String(), "\n\n") {
		if strings.Contains(stack, fmt.Sprintf("%q:%q", "leaves-nothing", id)) {
			out = append(out, stack)
		}
	}
	return out
}
