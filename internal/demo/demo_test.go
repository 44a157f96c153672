package demo_test

import (
	"testing"

	"github.com/dvcompactor/dvcompactor/internal/demo"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestTheDemoKeepsItsRowsAndShowsLess(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	r, err := demo.Run(t.Context(), demo.Options{Dir: dir, Scale: 20})
	require.NoError(t, err)
	require.Len(t, r.Steps, 4)
	worn, migrated, again, compacted := r.Steps[0], r.Steps[1], r.Steps[2], r.Steps[3]
	assert.Positive(t, worn.Counts.PositionDeleteFiles)
	assert.Zero(t, migrated.Counts.PositionDeleteFiles)
	assert.Equal(t, 1, migrated.Counts.PuffinFiles)
	assert.Equal(t, worn.Checksum, migrated.Checksum)
	assert.Equal(t, worn.Rows, migrated.Rows)
	assert.Less(t, again.Rows, migrated.Rows, "more rows are deleted in between")
	assert.Greater(t, again.Counts.PuffinFiles, 1)
	assert.Equal(t, 1, compacted.Counts.PuffinFiles)
	assert.Equal(t, again.Checksum, compacted.Checksum)
	assert.Less(t, compacted.OpenObjects, again.OpenObjects)

	_, err = demo.Run(t.Context(), demo.Options{Dir: dir})
	assert.ErrorContains(t, err, "file already exists")
}
