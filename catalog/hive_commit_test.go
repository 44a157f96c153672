//go:build !nohive

package catalog

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestOnlyMetastoresThatAreKnownToCheckConditionsAreCommittedToWithoutLocks(t *testing.T) {
	t.Parallel()
	for version, checks := range map[string]bool{
		"4.0.0": true, "4.0.1": true, "4.0.0-beta-1": true, "4.1.0": true, "4.2.0-SNAPSHOT": true, "5.0.0": true, "10.1": true,
		"4.0.0-alpha-1": false, "4.0.0-alpha-2": false, "3.1.3": false, "3.0": false, "2.3.10": false, "": false, "unknown": false, "1.2.1": false,
	} {
		assert.Equal(t, checks, conditional().MatchString(version), version)
	}
}
