package config

import (
	"testing"
)

func TestParseSize(t *testing.T) {
	t.Parallel()
	good := map[string]Size{
		"0": 0, "1": 1, "1048576": MiB, "512MiB": 512 * MiB, "64MB": 64e6, "10 GiB": 10 * GiB, "3kib": 3 * KiB, "7B": 7,
		"2TB": 2e12, "8388607TiB": 8388607 * TiB,
	}
	for text, want := range good {
		got, err := ParseSize(text)
		if got != want || err != nil {
			t.Errorf("%q: got %d, %v", text, got, err)
		}
		if again, err := ParseSize(got.String()); again != got || err != nil {
			t.Errorf("%q: %s does not give it back: %d, %v", text, got, again, err)
		}
	}
	for _, text := range []string{"", "x", "MiB", "-1", "1.5GiB", "64M", "1 Mi B", "8388608TiB", "99999999999999999999", "0x10"} {
		if got, err := ParseSize(text); err == nil {
			t.Errorf("%q: got %d", text, got)
		}
	}
}
