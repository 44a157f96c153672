package repair_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/dvcompactor/dvcompactor/internal/lakewriter"
	"github.com/dvcompactor/dvcompactor/internal/testlake"
	"github.com/dvcompactor/dvcompactor/internal/testlake/forge"
	"github.com/dvcompactor/dvcompactor/maintenance/check"
	"github.com/dvcompactor/dvcompactor/maintenance/repair"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestADataFileWithAnotherFaultIsLeftAloneUntilThatIsNamedToo(t *testing.T) {
	t.Parallel()
	for _, name := range []string{
		"dv-sequence: another partition",
		"dv-duplicate: zeros in one of two vectors, in a partition and sharing its Puffin file with healthy ones",
		"dv-misbound: the range of another data file, which lacks a position of version 2, beside position deletes of format version 2",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := admitNamed(t, name)
			before := w.photo()
			require.Len(t, w.options.Issues, 2)
			for i, issue := range w.options.Issues {
				_, err := w.run(func(o *repair.Options) { o.Apply, o.Issues = true, []string{issue} })
				require.ErrorIs(t, err, repair.ErrNoRepair, issue)
				assert.ErrorContains(t, err, w.options.Issues[1-i], "the other one is named")
				w.assertUnchanged(before, "a repair of one of two faults")
			}
		})
	}
}

func TestADataFileWithoutFindingsHasNothingToRepair(t *testing.T) {
	t.Parallel()
	w := admitNamed(t, "dv-partition: a vector of another partition, sharing its Puffin file with healthy ones")
	for path := range w.Right {
		report, err := w.run(func(o *repair.Options) { o.File = path })
		require.NoError(t, err)
		assert.Equal(t, path == w.DataFile, len(report.Findings) > 0, path)
	}
}

// scattered are cases in which several data files have the same fault.
func scattered() []string {
	return []string{
		"dv-missing: a Puffin file, in a partition and sharing its Puffin file with healthy ones",
		"dv-bare-blob: no footer, in a partition and sharing its Puffin file with healthy ones",
	}
}

func TestOneOfSeveralFindingsIsChosenByItsFileAndOffset(t *testing.T) {
	t.Parallel()
	w := admitNamed(t, scattered()[0])
	dry, err := w.run(nil)
	require.NoError(t, err)
	require.Len(t, dry.Findings, 3)
	for _, f := range dry.Findings {
		byFile, err := w.run(func(o *repair.Options) { o.File = f.DataFile })
		require.ErrorIs(t, err, repair.ErrNoRepair, "the others are in the same Puffin file, which has to be left: %+v", byFile)
		byOffset, err := w.run(func(o *repair.Options) { o.File, o.Offset = f.Location, f.Offset })
		require.ErrorIs(t, err, repair.ErrNoRepair, "%+v", byOffset)
	}
}

func TestFaultsThatDecideNothingAreMendedForTheWholePuffinFile(t *testing.T) {
	t.Parallel()
	w := admitNamed(t, scattered()[1])
	dry, err := w.run(nil)
	require.NoError(t, err)
	require.Len(t, dry.Findings, 3)
	f := dry.Findings[1]
	report, err := w.run(func(o *repair.Options) { o.Apply, o.File, o.Offset = true, f.Location, f.Offset })
	require.NoError(t, err)
	require.Len(t, report.Findings, 1)
	assert.Equal(t, f.DataFile, report.Findings[0].DataFile)
	assert.Len(t, report.DataFiles, 3, "the others move along")
	w.assertRight()
	w.assertSound()
	w.assertDone()
}

func TestPositionsGoOnlyWhenTheDataFileItselfDoesNotHaveThem(t *testing.T) {
	t.Parallel()
	parquet, err := lakewriter.EncodePositionDeletes(make([]lakewriter.Record, 1000)) // any Parquet file of so many rows
	require.NoError(t, err)
	for name, c := range map[string]struct {
		data   []byte // of a data file whose manifest entry says 100 rows; none when it is gone
		mended bool
	}{
		"a Parquet file with more rows than the manifest says": {parquet, false},
		"an ORC file with more rows":                           {javaFile(t, "noise-1000-3-zlib.orc"), false},
		"an ORC file with the same":                            {javaFile(t, "run-100-2-row.orc"), true},
		"an Avro file with more rows":                          {javaFile(t, "steps-500-3-snappy.avro"), false},
		"an Avro file with the same":                           {javaFile(t, "run-100-2-row.avro"), true},
		"an Avro file with less, which may have been cut":      {javaFile(t, "run-0-1-empty.avro"), false},
		"nobody knows":                                         {nil, false},
	} {
		for _, fault := range []string{
			"position-out-of-range: a vector with rows beyond the last",
			"position-out-of-range: records beyond the last row, in format version 2",
		} {
			t.Run(name+", "+fault, func(t *testing.T) {
				t.Parallel()
				w := admitNamed(t, fault)
				if c.data == nil {
					require.NoError(t, w.Lake.Remove(w.DataFile))
				} else {
					w.Lake.Put(w.DataFile, c.data)
				}
				before := w.photo()
				_, err := w.run(applying)
				if c.mended {
					require.NoError(t, err)
					w.assertRight()
					return
				}
				require.ErrorIs(t, err, repair.ErrNoRepair)
				w.assertUnchanged(before, "a repair that would bring rows back")
			})
		}
	}
}

// javaFile is a file that the reference wrote, with the number of its rows in its name.
func javaFile(t *testing.T, name string) []byte {
	data, err := os.ReadFile(filepath.Join(testlake.Root(t), "internal", "positiondelete", "testdata", "java", name))
	require.NoError(t, err)
	return data
}

func TestATagIsLeftOutWhereReadersFailOnTheSnapshotBefore(t *testing.T) {
	t.Parallel()
	for name, tagged := range map[string]bool{
		"dv-duplicate: two vectors of different snapshots, neither of which holds the other": false,
		"delete-bounds: inverted, in format version 2":                                       true,
		"dv-missing: a Puffin file":                                                          true, // rows come back
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := admitNamed(t, name)
			w.options.Tag = repair.TagAuto
			dry, err := w.run(nil)
			require.NoError(t, err)
			before := len(w.refs())
			report, err := w.run(w.consent(dry))
			require.NoError(t, err)
			assert.Equal(t, tagged, report.Tag != "")
			assert.Equal(t, tagged, len(w.refs()) > before)
		})
	}
}

// refs are the names of branches and tags.
func (w *ward) refs() []string {
	var out []string
	for name := range w.Lake.Load().Metadata.Refs() {
		out = append(out, name)
	}
	return out
}

func TestOnBothSidesOfARepairOtherBranchesReadTheSame(t *testing.T) {
	t.Parallel()
	w := admitNamed(t, "dv-duplicate: two vectors of different snapshots, neither of which holds the other, on a branch and with positions above 2^32")
	main := func() *testlake.Deletes {
		return testlake.ReadSnapshot(t, w.Lake.IO(), w.Lake.Load().Metadata.SnapshotByName("main"))
	}
	before := main().Positions
	_, err := w.run(applying)
	require.NoError(t, err)
	assert.Equal(t, before, main().Positions)
	r, err := check.Run(t.Context(), w.Lake.Load(), check.Options{Level: check.Vectors})
	require.NoError(t, err)
	assert.Empty(t, r.Findings)
}

func TestRowsThatCameBackOnPurposeAreNotTakenForDeletedByWhatOlderSnapshotsSay(t *testing.T) {
	t.Parallel()
	w := admitNamed(t, "dv-resurrected: the old entry alone")
	_, err := w.run(restoring(3)) // rows 1, 2 and 50
	require.NoError(t, err)
	lost := w.Lake.DeletionVectors(forge.Vector{Data: w.dataFile(), Positions: []int64{7, 8, 9}})
	w.Lake.Commit(forge.Change{Add: forge.Files(lost...)})
	require.NoError(t, w.Lake.Remove(lost[0].FilePath()))
	w.options.Issues = []string{"dv-missing"}
	dry, err := w.run(nil)
	require.NoError(t, err)
	assert.True(t, dry.NeedsConfirmation, "that as many were deleted before is no coincidence to go by: %+v", dry.DataFiles)
	assert.EqualValues(t, 3, dry.RestoreRows)
}
