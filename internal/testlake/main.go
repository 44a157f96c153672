package testlake

import (
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"
)

// Main runs the tests of a package, for its TestMain, and fails when they leave a goroutine, a file or a folder behind.
// It returns the exit code. Temporary files of the tests go to a folder of its own.
func Main(m *testing.M) int {
	dir, err := os.MkdirTemp("", "dvcompactor-tests-")
	if err == nil {
		err = errors.Join(os.Chmod(dir, 0o755), os.Setenv("TMPDIR", dir)) // a Postgres server runs as another user
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	code := m.Run()
	left := append(leftFiles(dir), leftGoroutines()...)
	if err := os.RemoveAll(dir); err != nil {
		left = append(left, err.Error())
	}
	if code == 0 && len(left) > 0 {
		fmt.Fprintf(os.Stderr, "FAIL: the tests leave behind:\n%s\n", strings.Join(left, "\n\n"))
		return 1
	}
	return code
}

func leftFiles(dir string) []string {
	left, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil {
		return []string{err.Error()}
	}
	return left
}

// leftGoroutines returns the stacks of the goroutines beside this one, after they had time to end.
func leftGoroutines() (left []string) {
	if t, ok := http.DefaultTransport.(*http.Transport); ok {
		t.CloseIdleConnections()
	}
	for deadline := time.Now().Add(20 * time.Second); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		if left = goroutines(); len(left) == 0 {
			return nil
		}
	}
	return left
}

// lasting are functions whose goroutines go on for as long as the process: of the runtime, and of libraries that start
// one for all.
func lasting() []string {
	return []string{"testing.(*M).startAlarm", "os/signal.signal_recv", "runtime.ensureSigM", "go.opencensus.io/stats/view.(*worker).start"}
}

func goroutines() (out []string) {
	stack := make([]byte, 8<<20)
	stack = stack[:runtime.Stack(stack, true)]
	for _, g := range strings.Split(string(stack), "\n\n")[1:] { // the first is this one
		keep := true
		for _, f := range lasting() {
			keep = keep && !strings.Contains(g, f)
		}
		if keep {
			out = append(out, g)
		}
	}
	return out
}
