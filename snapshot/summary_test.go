package snapshot

import (
	"testing"

	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/table"
	"github.com/stretchr/testify/assert"
)

func TestTheSummaryCountsADeletionVectorAsOneAndByItsBlob(t *testing.T) {
	t.Parallel()
	d := Delta{AddedDVs: 2, RemovedDVs: 1, RemovedPositionDeleteFiles: 3, AddedPositionDeletes: 10, RemovedPositionDeletes: 12, AddedBytes: 80, RemovedBytes: 900}
	parent := &table.Snapshot{Summary: &table.Summary{Properties: iceberg.Properties{
		"total-data-files": "7", "total-records": "700", "total-delete-files": "4", "total-position-deletes": "12",
		"total-files-size": "5000", "total-equality-deletes": "0",
	}}}
	assert.Equal(t, iceberg.Properties{
		"added-dvs": "2", "removed-dvs": "1", "added-delete-files": "2", "removed-delete-files": "4", "removed-position-delete-files": "3",
		"added-position-deletes": "10", "removed-position-deletes": "12", "added-files-size": "80", "removed-files-size": "900",
		"total-data-files": "7", "total-records": "700", "total-delete-files": "2", "total-position-deletes": "10", "total-files-size": "4180",
		"total-equality-deletes": "0", "dvcompactor.plan-id": "x",
	}, d.summary(parent, map[string]string{"dvcompactor.plan-id": "x"}))
}

func TestTotalsThatAreMissingOrWouldBeNegativeAreLeftOut(t *testing.T) {
	t.Parallel()
	d := Delta{RemovedPositionDeleteFiles: 3, RemovedPositionDeletes: 12, RemovedBytes: 900}
	parent := &table.Snapshot{Summary: &table.Summary{Properties: iceberg.Properties{"total-delete-files": "2", "total-position-deletes": "many"}}}
	got := d.summary(parent, nil)
	assert.NotContains(t, got, "total-delete-files")
	assert.NotContains(t, got, "total-position-deletes")
	assert.NotContains(t, got, "total-files-size")
	assert.NotContains(t, got, "added-dvs")
	assert.Equal(t, "3", got["removed-position-delete-files"])
	assert.NotPanics(t, func() { d.summary(&table.Snapshot{}, nil) })
}
