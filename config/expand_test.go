package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestReferences(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	secret := filepath.Join(dir, "secret")
	if err := os.WriteFile(secret, []byte("p@ss ${A}: #\r\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "large"), make([]byte, 1<<20+1), 0o600); err != nil {
		t.Fatal(err)
	}
	vars := env(map[string]string{"A": "1", "EMPTY": "", "B_2": "x: y # ${A} \" '"})
	tests := []struct {
		name, text, want, err string
	}{
		{"plain text", "a b", "a b", ""},
		{"a variable", "<${A}>", "<1>", ""},
		{"two variables", "${A}${A}", "11", ""},
		{"a value with YAML and references in it", "${B_2}", "x: y # ${A} \" '", ""},
		{"an empty variable", "<${EMPTY}>", "<>", ""},
		{"a default for an empty variable", "${EMPTY:-d}", "d", ""},
		{"a default for a missing variable", "${NO:-a:-b $c}", "a:-b $c", ""},
		{"an empty default", "<${NO:-}>", "<>", ""},
		{"a default that is not needed", "${A:-d}", "1", ""},
		{"an escape", "$${A} $$${A}", "${A} $${A}", ""},
		{"dollars without braces", "$A $ $$ a$", "$A $ $$ a$", ""},
		{"a file", "${file:" + secret + "}", "p@ss ${A}: #", ""},
		{"a missing variable", "${NO}", "", "environment variable NO"},
		{"an open brace", "${A", "", "without a }"},
		{"an empty name", "${}", "", "none of"},
		{"a name that is none", "${1A}", "", "none of"},
		{"a shell expression", "${A:?x}", "", "none of"},
		{"a relative file", "${file:secret}", "", "not an absolute path"},
		{"a directory", "${file:" + dir + "}", "", "not a regular file"},
		{"an endless file", "${file:/dev/zero}", "", "not a regular file"},
		{"a large file", "${file:" + dir + "/large}", "", "more than 1 MiB"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, err := expand(tt.text, vars)
			if got != tt.want || (err == nil) != (tt.err == "") || err != nil && !strings.Contains(err.Error(), tt.err) {
				t.Errorf("got %q, %v", got, err)
			}
		})
	}
}
