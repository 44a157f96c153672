package term

import (
	"errors"
	"fmt"
	"math"
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

// Bytes is a size given as a flag: 64MiB, 1.5 GiB, 1000000. It implements pflag.Value.
type Bytes int64

// Set parses text. Zero and negative sizes are errors.
func (b *Bytes) Set(text string) error {
	n, err := humanize.ParseBytes(text)
	switch {
	case err != nil:
		return errors.New("want a size as in 64MiB")
	case n == 0 || n > math.MaxInt64:
		return fmt.Errorf("%s is out of range", text)
	}
	*b = Bytes(n)
	return nil
}

// String writes the size in binary units, nothing for zero.
func (b *Bytes) String() string {
	if b == nil || *b == 0 {
		return ""
	}
	return humanize.IBytes(uint64(*b))
}

// Type names the type in help texts.
func (b *Bytes) Type() string { return "size" }
