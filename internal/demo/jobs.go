package demo

import (
	"context"
	"math/rand/v2"
	"slices"

	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/table"
	"github.com/dvcompactor/dvcompactor/internal/lakewriter"
)

// Size of the demo's table.
const (
	regions        = 6
	filesPerRegion = 4
	rowsPerFile    = 20_000
	deleteJobs     = 20 // commits of position deletes
	filesPerJob    = 60 // position delete files in each
	rowsPerDelete  = 40
	vectorJobs     = 40 // commits that replace a deletion vector
)

// jobs are the writers that wear the table down. They know every deleted position, as a real engine would read them.
type jobs struct {
	demo    *demo
	random  *rand.Rand
	files   []iceberg.DataFile
	deleted map[string]map[int64]bool // by data file path
}

// newJobs makes the table and its data files.
func newJobs(ctx context.Context, d *demo) (*jobs, error) {
	if err := lakewriter.CreateTable(ctx, d.options.Dir, CatalogName, TableName, 2, lakewriter.ByRegion()); err != nil {
		return nil, err
	}
	t, err := lakewriter.Load(ctx, d.catalog, ident())
	if err != nil {
		return nil, err
	}
	rows := int64(rowsPerFile / d.options.Scale)
	d.stage("writing data files", regions*filesPerRegion, "files")
	for i := range regions * filesPerRegion {
		if t, err = lakewriter.Append(ctx, t, int32(i%regions), int64(i)*rows, rows); err != nil {
			return nil, err
		}
		d.add(1)
	}
	j := &jobs{demo: d, random: rand.New(rand.NewPCG(1, 2)), deleted: map[string]map[int64]bool{}}
	if j.files, err = lakewriter.DataFiles(ctx, t, "main"); err != nil {
		return nil, err
	}
	for _, f := range j.files {
		j.deleted[f.FilePath()] = map[int64]bool{}
	}
	return j, nil
}

func (j *jobs) dataFiles() int { return len(j.files) }

// positionDeletes commits position delete files as an engine with merge-on-read deletes leaves them: most name one data
// file, some all data files of a region.
func (j *jobs) positionDeletes(ctx context.Context) error {
	commits, perCommit := max(deleteJobs/j.demo.options.Scale, 2), max(filesPerJob/j.demo.options.Scale, 3)
	j.demo.stage("running delete jobs", int64(commits*perCommit), "files")
	t, err := lakewriter.Load(ctx, j.demo.catalog, ident())
	if err != nil {
		return err
	}
	for range commits {
		var add []iceberg.DataFile
		for i := range perCommit {
			d, err := j.positionDelete(ctx, t, i%10 == 0)
			if err != nil {
				return err
			}
			add = append(add, d)
			j.demo.add(1)
		}
		if t, err = lakewriter.Delta(ctx, t, "main", add, nil); err != nil {
			return err
		}
	}
	return nil
}

func (j *jobs) positionDelete(ctx context.Context, t *table.Table, wide bool) (iceberg.DataFile, error) {
	target := j.files[j.random.IntN(len(j.files))]
	positions := map[string][]int64{}
	for _, f := range j.files {
		same := f.FilePath() == target.FilePath()
		if same || wide && f.Partition()[1000] == target.Partition()[1000] {
			positions[f.FilePath()] = j.pick(f, rowsPerDelete)
		}
	}
	return lakewriter.PositionDeletes(ctx, t, target, positions)
}

// pick deletes n rows of a data file, some of which may be deleted already.
func (j *jobs) pick(f iceberg.DataFile, n int) []int64 {
	out := make([]int64, 0, n)
	for range n {
		p := j.random.Int64N(f.Count())
		j.deleted[f.FilePath()][p] = true
		out = append(out, p)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// deletionVectors commits deletion vectors one at a time, each in a Puffin of its own, as engines on format version 3
// leave them.
func (j *jobs) deletionVectors(ctx context.Context) error {
	commits := max(vectorJobs/j.demo.options.Scale, len(j.files)/2)
	j.demo.stage("running delete jobs", int64(commits), "vectors")
	t, err := lakewriter.Load(ctx, j.demo.catalog, ident())
	if err != nil {
		return err
	}
	for i := range commits {
		if t, err = j.replaceVector(ctx, t, j.files[i%len(j.files)]); err != nil {
			return err
		}
		j.demo.add(1)
	}
	return nil
}

func (j *jobs) replaceVector(ctx context.Context, t *table.Table, f iceberg.DataFile) (*table.Table, error) {
	j.pick(f, rowsPerDelete)
	positions := make([]int64, 0, len(j.deleted[f.FilePath()]))
	for p := range j.deleted[f.FilePath()] {
		positions = append(positions, p)
	}
	slices.Sort(positions)
	return lakewriter.ReplaceVector(ctx, t, "main", f, positions)
}
