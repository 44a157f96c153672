package config

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Size is a number of bytes, written like 512MiB, 64MB or 1048576.
type Size int64

// Binary units.
const (
	KiB Size = 1 << 10
	MiB Size = 1 << 20
	GiB Size = 1 << 30
	TiB Size = 1 << 40
)

// unit is a suffix and what it multiplies by.
type unit struct {
	suffix string
	bytes  Size
}

// units are sorted so that the first one that divides a size is the shortest way to write it.
func units() []unit {
	return []unit{
		{"TiB", TiB}, {"GiB", GiB}, {"MiB", MiB}, {"KiB", KiB},
		{"TB", 1e12}, {"GB", 1e9}, {"MB", 1e6}, {"KB", 1e3}, {"B", 1},
	}
}

// ParseSize parses a size. Units are KiB, MiB, GiB, TiB (powers of 1024), KB, MB, GB, TB (powers of 1000) and B, in any
// case; without a unit it is bytes.
func ParseSize(text string) (Size, error) {
	digits := strings.TrimRight(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ ")
	suffix := strings.TrimLeft(text[len(digits):], " ")
	n, err := strconv.ParseUint(digits, 10, 63)
	if err != nil {
		return 0, errors.New("is not a size; write a whole number and a unit, for instance 512MiB")
	}
	multiplier := Size(0)
	for _, u := range units() {
		if strings.EqualFold(suffix, u.suffix) || suffix == "" && u.bytes == 1 {
			multiplier = u.bytes
		}
	}
	if multiplier == 0 {
		return 0, fmt.Errorf("has the unknown unit %q; write KiB, MiB, GiB, TiB, KB, MB, GB, TB or B", suffix)
	}
	if n > uint64(math.MaxInt64/multiplier) {
		return 0, errors.New("is too large a size")
	}
	return Size(n) * multiplier, nil
}

// String returns the size in the largest binary unit that divides it, so that [ParseSize] gives it back.
func (s Size) String() string {
	for _, u := range units()[:4] {
		if s != 0 && s%u.bytes == 0 {
			return strconv.FormatInt(int64(s/u.bytes), 10) + u.suffix
		}
	}
	return strconv.FormatInt(int64(s), 10)
}

// MarshalYAML implements yaml.Marshaler.
func (s Size) MarshalYAML() (any, error) { return s.String(), nil }
