package snapshot

import (
	"maps"
	"strconv"
	"strings"

	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/table"
)

// Delta counts what a change did to the delete entries, with the meaning of the reference implementation: a deletion
// vector is counted as one and never as a position delete file, and its size is that of its blob.
type Delta struct {
	AddedDVs, RemovedDVs                                 int64
	AddedPositionDeleteFiles, RemovedPositionDeleteFiles int64
	AddedPositionDeletes, RemovedPositionDeletes         int64 // records
	AddedBytes, RemovedBytes                             int64
}

func (d *Delta) added(a NewDV) {
	d.AddedDVs++
	d.AddedPositionDeletes += a.Cardinality
	d.AddedBytes += a.Length
}

func (d *Delta) addedFile(a NewPositionDeletes) {
	d.AddedPositionDeleteFiles++
	d.AddedPositionDeletes += a.Records
	d.AddedBytes += a.Size
}

func (d *Delta) removed(f iceberg.DataFile) {
	size := f.FileSizeBytes()
	if FormatOf(f) == iceberg.PuffinFile {
		d.RemovedDVs++
		if n := f.ContentSizeInBytes(); n != nil {
			size = *n
		}
	} else {
		d.RemovedPositionDeleteFiles++
	}
	d.RemovedPositionDeletes += f.Count()
	d.RemovedBytes += size
}

// totals are by how much the totals of a snapshot summary change.
func (d *Delta) totals() map[string]int64 {
	return map[string]int64{
		"total-data-files": 0, "total-records": 0, "total-equality-deletes": 0,
		"total-delete-files":     d.AddedDVs + d.AddedPositionDeleteFiles - d.RemovedDVs - d.RemovedPositionDeleteFiles,
		"total-position-deletes": d.AddedPositionDeletes - d.RemovedPositionDeletes,
		"total-files-size":       d.AddedBytes - d.RemovedBytes,
	}
}

// summary builds the snapshot summary: the counts that are not zero, and each total of the parent carried forward by
// the difference. A total that the parent lacks, or that would become negative, is left out, not invented (spec,
// "Optional Snapshot Summary Fields").
func (d *Delta) summary(parent *table.Snapshot, extra map[string]string) iceberg.Properties {
	out := iceberg.Properties{}
	maps.Copy(out, extra)
	for key, n := range map[string]int64{
		"added-dvs": d.AddedDVs, "removed-dvs": d.RemovedDVs,
		"added-delete-files": d.AddedDVs + d.AddedPositionDeleteFiles, "removed-delete-files": d.RemovedDVs + d.RemovedPositionDeleteFiles,
		"added-position-delete-files": d.AddedPositionDeleteFiles, "removed-position-delete-files": d.RemovedPositionDeleteFiles,
		"added-position-deletes": d.AddedPositionDeletes, "removed-position-deletes": d.RemovedPositionDeletes,
		"added-files-size": d.AddedBytes, "removed-files-size": d.RemovedBytes,
	} {
		if n > 0 {
			out[key] = strconv.FormatInt(n, 10)
		}
	}
	if parent.Summary == nil {
		return out
	}
	for key, n := range d.totals() {
		total, err := strconv.ParseInt(parent.Summary.Properties[key], 10, 64)
		if err == nil && total+n >= 0 {
			out[key] = strconv.FormatInt(total+n, 10)
		}
	}
	return out
}

// FormatOf returns the format of a file in capitals. Readers take the name in either case, and DuckDB writes "puffin".
func FormatOf(f iceberg.DataFile) iceberg.FileFormat {
	return iceberg.FileFormat(strings.ToUpper(string(f.FileFormat())))
}
