package positiondelete_test

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/apache/iceberg-go"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/dvcompactor/dvcompactor/internal/positiondelete"
	"github.com/dvcompactor/dvcompactor/internal/testlake"
)

// javaShapes are the positions of the records that interop/java/DeleteFiles.java writes, by the first word of the name of
// a file.
func javaShapes() map[string]func(i int64) int64 {
	return map[string]func(i int64) int64{
		"run":     func(i int64) int64 { return i },
		"steps":   func(i int64) int64 { return 7*i + i%3 },
		"repeats": func(i int64) int64 { return i / 25 },
		"down":    func(i int64) int64 { return 1_000_000 - 5*i },
		"noise":   func(i int64) int64 { return i * 2654435761 & (1<<40 - 1) },
		"outliers": func(i int64) int64 {
			if i%100 == 99 {
				return 1<<40 + i
			}
			return i * 37 % 1000
		},
		"fall": func(i int64) int64 { return 10_000_000 - i*i },
		"rare": func(i int64) int64 {
			if i%500 == 400 {
				return 1 << 30
			}
			return i * 37 % 1000
		},
		"below": func(i int64) int64 {
			if i%100 == 99 {
				return 1 << 40
			}
			return i*37%1000 - 5000
		},
		"wide": func(i int64) int64 { return int64(uint64(i) * 0x9E3779B97F4A7C15 >> 1) },
	}
}

// javaRecords returns the records of a file by its name: those without nulls, and how many there are in all.
func javaRecords(t *testing.T, name string) (want map[string][]int64, records int64) {
	var shape string
	var files int64
	_, err := fmt.Sscanf(strings.ReplaceAll(name, "-", " "), "%s %d %d", &shape, &records, &files)
	require.NoError(t, err, name)
	position := javaShapes()[shape]
	require.NotNil(t, position, name)
	want = map[string][]int64{}
	for i := range records {
		if strings.Contains(name, "-nulls.") && (i < 200 && i%7 == 3 || i >= 1500 && i < 1600) {
			continue
		}
		path := fmt.Sprintf("s3://lake/t/data/%d.parquet", i*files/records)
		want[path] = append(want[path], position(i))
	}
	return want, records
}

func TestFilesOfTheReferenceAreRead(t *testing.T) {
	t.Parallel()
	locations, err := filepath.Glob("testdata/java/*")
	require.NoError(t, err)
	require.NotEmpty(t, locations)
	for _, location := range locations {
		t.Run(filepath.Base(location), func(t *testing.T) {
			t.Parallel()
			want, records := javaRecords(t, filepath.Base(location))
			got, nulls, err := readFile(t, location, records)
			require.NoError(t, err)
			for _, positions := range want {
				records -= int64(len(positions))
			}
			assert.Equal(t, records, nulls)
			if assert.Equal(t, slices.Sorted(maps.Keys(want)), slices.Sorted(maps.Keys(got))) {
				for path := range want {
					assert.Equal(t, want[path], got[path], path)
				}
			}
		})
	}
}

func TestFilesOfALakeOfTheReferenceAreRead(t *testing.T) {
	t.Parallel()
	a, b := "s3://lake/t/data/a.parquet", "s3://lake/t/data/b.parquet"
	for name, want := range map[string]map[string][]int64{
		"d.avro": {a: {1, 2}, b: {3}},
		"d.orc":  {a: {5}, b: {6, 7}},
	} {
		got, _, err := readFile(t, filepath.Join(testlake.Root(t), "testdata/fixtures/v2-avro-orc-deletes/t/data", name), 3)
		require.NoError(t, err)
		assert.Equal(t, want, got, name)
	}
}

// readFile collects what Read visits of a file, whose name ends with its format, and counts its nulls.
func readFile(t *testing.T, location string, records int64) (got map[string][]int64, nulls int64, err error) {
	data, err := os.ReadFile(location)
	require.NoError(t, err)
	got = map[string][]int64{}
	format := iceberg.FileFormat(strings.ToUpper(strings.TrimPrefix(filepath.Ext(location), ".")))
	f := positiondelete.File{Location: location, Source: &object{data: data}, Format: format, Size: int64(len(data)), Records: records, Nulls: func(n int64) { nulls += n }}
	err = positiondelete.Read(t.Context(), f, func(path []byte, positions []int64) error {
		got[string(path)] = append(got[string(path)], positions...)
		return nil
	})
	return got, nulls, err
}
