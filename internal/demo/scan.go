package demo

import (
	"context"
	"fmt"
	"hash/fnv"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/dvcompactor/dvcompactor/catalog"
	"github.com/dvcompactor/dvcompactor/internal/lakewriter"
)

// scan reads every row of the table with iceberg-go and returns how many there are and a checksum that does not depend
// on their order: the sum of the rows' hashes.
func scan(ctx context.Context, c catalog.Catalog) (rows int64, checksum string, err error) {
	t, err := lakewriter.Load(ctx, c, ident())
	if err != nil {
		return 0, "", err
	}
	_, batches, err := t.Scan().ToArrowRecords(ctx)
	if err != nil {
		return 0, "", err
	}
	var sum uint64
	for batch, err := range batches {
		if err != nil {
			return 0, "", err
		}
		rows += batch.NumRows()
		sum += hashRows(batch)
		batch.Release()
	}
	return rows, fmt.Sprintf("%016x", sum), nil
}

func hashRows(batch arrow.RecordBatch) (sum uint64) {
	for i := range int(batch.NumRows()) {
		h := fnv.New64a()
		for _, col := range batch.Columns() {
			fmt.Fprintf(h, "%s\x00", col.ValueStr(i))
		}
		sum += h.Sum64()
	}
	return sum
}

// stage and add report progress when somebody listens.
func (d *demo) stage(name string, total int64, unit string) {
	if d.options.Progress != nil {
		d.options.Progress.Stage(name, total, unit)
	}
}

func (d *demo) add(n int64) {
	if d.options.Progress != nil {
		d.options.Progress.Add(n)
	}
}
