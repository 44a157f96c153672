//go:build !linux || !amd64

package crash

import "testing"

func countCalls(t *testing.T, _ scenario, _ *lab) []*point {
	t.Skip("system calls are followed on Linux on amd64 only")
	return nil
}

func countSyncs(t *testing.T, s scenario, l *lab) []*point { return countCalls(t, s, l) }

func killAtCall(*testing.T, scenario, *lab, *point) {}

func cutPowerAtCall(*testing.T, scenario, *lab, *point) {}
