package judge

import (
	"maps"
	"slices"
	"strconv"

	"github.com/apache/iceberg-go"
)

// counted are the keys of a snapshot summary that count deletes: what was added, and what was removed.
var counted = [][3]string{
	{"delete-files", "added-delete-files", "removed-delete-files"},
	{"position-deletes", "added-position-deletes", "removed-position-deletes"},
	{"dvs", "added-dvs", "removed-dvs"},
	{"position-delete-files", "added-position-delete-files", "removed-position-delete-files"},
	{"files-size", "added-files-size", "removed-files-size"},
}

// summary judges C2 and C8: the counts of the summary are those of the entries that came and went.
func (c *commit) summary() {
	added, removed := map[string]int64{}, map[string]int64{}
	old, now := c.old.live(isPosition), c.now.live(isPosition)
	count(now, old, added)
	count(old, now, removed)
	p := c.snap.Summary.Properties
	for _, k := range counted {
		for key, want := range map[string]int64{k[1]: added[k[0]], k[2]: removed[k[0]]} {
			if number(p[key]) != want || want == 0 && p[key] != "" {
				c.bad("C8 summary %s: %q, the entries say %d", key, p[key], want)
			}
		}
	}
	for _, key := range []string{"added-data-files", "deleted-data-files", "added-records", "deleted-records"} {
		if number(p[key]) != 0 {
			c.bad("C2 summary %s: %s", key, p[key])
		}
	}
	c.totals(added, removed)
}

// count adds up the entries of one side that the other does not have.
func count(have, other map[string]entry, into map[string]int64) {
	for _, id := range slices.Sorted(maps.Keys(have)) {
		e := have[id]
		if _, both := other[id]; both {
			continue
		}
		into["delete-files"]++
		into["position-deletes"] += e.file.Count()
		if e.file.FileFormat() == iceberg.PuffinFile {
			into["dvs"]++
			into["files-size"] += value(e.file.ContentSizeInBytes())
		} else {
			into["position-delete-files"]++
			into["files-size"] += e.file.FileSizeBytes()
		}
	}
}

// totals judges the running totals: previous total and difference, missing when the previous one is missing or senseless.
func (c *commit) totals(added, removed map[string]int64) {
	before, after := c.parent.Summary.Properties, c.snap.Summary.Properties
	for total, key := range map[string]string{
		"total-delete-files": "delete-files", "total-position-deletes": "position-deletes", "total-files-size": "files-size",
		"total-data-files": "", "total-records": "", "total-equality-deletes": "",
	} {
		want := ""
		previous, err := strconv.ParseInt(before[total], 10, 64)
		if n := previous + added[key] - removed[key]; err == nil && n >= 0 {
			want = strconv.FormatInt(n, 10)
		}
		if after[total] != want {
			c.bad("C8 summary %s: %q, want %q", total, after[total], want)
		}
	}
}

// number reads a count; a missing or senseless one is 0.
func number(s string) int64 {
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil {
		return 0
	}
	return n
}
