package testlake

import "testing"

// Size is how much a test does of the same kind: as whole says, or with -short as short does, which shows the same in less time.
func Size(whole, short int) int {
	if testing.Short() {
		return short
	}
	return whole
}
