package term

import (
	"strconv"
	"time"

	"github.com/dustin/go-humanize"
)

// Size writes a number of bytes in binary units: 512 B, 1.5 KiB, 64 MiB.
func Size(n int64) string {
	if n < 0 {
		return "-" + humanize.IBytes(uint64(-(n+1))+1)
	}
	return humanize.IBytes(uint64(n))
}

// Count writes a number with thousands separated: 1,234,567.
func Count(n int64) string { return humanize.Comma(n) }

// Plural writes a number and the noun it counts: 1 table, 2 tables.
func Plural(n int64, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return Count(n) + " " + many
}

// Seconds writes a duration for people: 0.42 s, 12.3 s, 2m5s.
func Seconds(s float64) string {
	switch {
	case s < 10:
		return strconv.FormatFloat(s, 'f', 2, 64) + " s"
	case s < 100:
		return strconv.FormatFloat(s, 'f', 1, 64) + " s"
	}
	return time.Duration(s * float64(time.Second)).Round(time.Second).String()
}
