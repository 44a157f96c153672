package main

import (
	"testing"

	"github.com/dvcompactor/dvcompactor/internal/cli/exit"
	"github.com/stretchr/testify/assert"
)

func TestAPredicateThatIsNoneOfTheTablesPartitionsIsAMistakeOfUsage(t *testing.T) {
	t.Parallel()
	lake := newLake(t, "v2-partition-granular")
	for predicate, want := range map[string]string{"nope = 1": "nope does not partition the table", "id_bucket >": "at character 12: expected a value"} {
		for _, verb := range []string{"plan", "compact", "migrate"} {
			o := newShell(t).run(verb, "-c", lake.config, "--where", predicate, "lake.db.t")
			assert.Equal(t, exit.Usage, o.code, "%s %s", verb, predicate)
			assert.Contains(t, o.stdout+o.stderr, want)
		}
	}
}
