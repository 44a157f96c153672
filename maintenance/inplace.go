package maintenance

import (
	"cmp"
	"strconv"

	"github.com/apache/iceberg-go/table"
)

// Granularity says what one position delete file is about.
type Granularity string

// The granularities, by the words of the table property write.delete.granularity.
const (
	ByFile      Granularity = "file"      // one data file
	ByPartition Granularity = "partition" // data files of one partition
)

// InPlace says how Compact rewrites the position delete files of a table of format version 2, which stays in it. The zero
// value of a field means its default.
type InPlace struct {
	// Granularity is of the files that are written; default what the table's property write.delete.granularity says, else
	// by partition, which is the default of that property.
	Granularity Granularity `json:"granularity"`
	// TargetSize is the bytes of a position delete file to aim for; default the table's property
	// write.delete.target-file-size-bytes, else 64 MiB. Files of three quarters of it are large enough to be left alone.
	TargetSize int64 `json:"target_size"`
	// MinInputFiles is the number of files that are worth rewriting in one partition; default 5.
	MinInputFiles int `json:"min_input_files"`
	// RewriteAll takes large files and few files as well. What would neither become fewer nor lose records stays.
	RewriteAll bool `json:"rewrite_all"`
}

// Defaults of InPlace, those of the reference implementation.
const (
	defaultDeleteFileSize = 64 << 20
	defaultMinInputFiles  = 5
)

// of fills in what a caller left open with what the properties of a table say. A property that makes no sense says nothing.
func (p InPlace) of(meta table.Metadata) *InPlace {
	props := meta.Properties()
	if g := Granularity(props["write.delete.granularity"]); p.Granularity == "" && g == ByFile {
		p.Granularity = g
	}
	p.Granularity = cmp.Or(p.Granularity, ByPartition)
	if n, err := strconv.ParseInt(props["write.delete.target-file-size-bytes"], 10, 64); err == nil && n > 0 && p.TargetSize <= 0 {
		p.TargetSize = n
	}
	if p.TargetSize <= 0 {
		p.TargetSize = defaultDeleteFileSize
	}
	if p.MinInputFiles <= 0 {
		p.MinInputFiles = defaultMinInputFiles
	}
	return &p
}

// inPlace says whether a run rewrites the position delete files of a table as what they are.
func inPlace(meta table.Metadata, o Options) bool { return o.Action == Compact && meta.Version() == 2 }

// InPlacePlan is what is special about a partition whose position delete files are rewritten as fewer ones.
type InPlacePlan struct {
	Bytes    int64 `json:"bytes"`    // of the position delete files that are read
	Dangling int   `json:"dangling"` // of them, those that by their entries apply to no live data file
	// FilesAfter is how many there will be instead, going by sizes; null when only their records tell.
	FilesAfter *int `json:"files_after"`
}
