package repair_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/dvcompactor/dvcompactor/internal/testlake/damage"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestEveryObjectOfARepairedDataFileIsCopiedFirst(t *testing.T) {
	t.Parallel()
	all := damage.All()
	i := slices.IndexFunc(all, func(c damage.Case) bool { return c.Issue == "dv-duplicate" && len(c.Also) == 0 })
	w := admit(t, all[i])
	puffins := map[string][]byte{}
	for _, d := range state(t, w.Lake.Load()).DVs {
		puffins[d.Path] = w.Lake.Get(d.Path)
	}
	require.Greater(t, len(puffins), 1, "the two deletion vectors are in two files")
	report, err := w.run(applying)
	require.NoError(t, err)
	copied := map[string]string{}
	for _, c := range report.Copies {
		copied[c.Of] = c.Location
	}
	for _, d := range report.Removed {
		at, ok := copied[d.Location]
		require.True(t, ok, d.Location)
		assert.Equal(t, puffins[d.Location], w.Lake.Get(at))
		assert.True(t, strings.HasPrefix(at, w.Lake.At+"/metadata/dvcompactor/repair/"+report.PlanID+"/"), at)
	}
}
