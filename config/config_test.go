package config

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
)

func env(vars map[string]string) LookupEnv {
	return func(name string) (string, bool) {
		value, ok := vars[name]
		return value, ok
	}
}

// minimal is the shortest valid configuration; text is put behind it.
func minimal(text string) string {
	return "version: 1\ncatalogs:\n  c:\n    type: sql\n    uri: sqlite:///c.db\n" + text
}

func TestExampleFile(t *testing.T) {
	t.Parallel()
	const path = "../docs/config.example.yaml"
	c, err := Load(path, nil)
	if err != nil {
		t.Fatal(err)
	}
	if got := c.CatalogNames(); !slices.Equal(got, []string{"aws", "local", "prod", "warehouse"}) {
		t.Errorf("catalogs %q", got)
	}
	if got := c.Catalogs["warehouse"].URI; got != "postgres://iceberg:secret@db.example:5432/catalog" {
		t.Errorf("uri %q", got)
	}
	defaults := DefaultDefaults()
	defaults.Parallelism = 4
	if c.Defaults != defaults {
		t.Errorf("the example does not show the defaults: %+v", c.Defaults)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, key := range yamlKeys(reflect.TypeFor[Config]()) {
		if !strings.Contains(string(text), key+":") {
			t.Errorf("the example does not show %s", key)
		}
	}
}

// yamlKeys returns the keys of a struct and those of the structs in it.
func yamlKeys(typ reflect.Type) []string {
	switch typ.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Map:
		return yamlKeys(typ.Elem())
	case reflect.Struct:
	default:
		return nil
	}
	var keys []string
	for i := range typ.NumField() {
		key, _, _ := strings.Cut(typ.Field(i).Tag.Get("yaml"), ",")
		if key != "-" {
			keys = append(append(keys, key), yamlKeys(typ.Field(i).Type)...)
		}
	}
	return keys
}

func TestDefaultsAreFilledIn(t *testing.T) {
	t.Parallel()
	c, err := Parse("f", []byte(minimal("")), nil)
	if err != nil {
		t.Fatal(err)
	}
	want := &Config{
		Version:  1,
		Catalogs: map[string]Catalog{"c": {Name: "c", Type: "sql", URI: "sqlite:///c.db"}},
		Defaults: Defaults{
			Memory: 512 << 20, Parallelism: runtime.GOMAXPROCS(0), TargetPuffinSize: 64 << 20,
			Retries: Retries{RequestAttempts: 4, CommitAttempts: 10, BaseDelay: 100 * time.Millisecond, MaxDelay: 5 * time.Second},
		},
	}
	if !reflect.DeepEqual(c, want) {
		t.Errorf("got %+v, want %+v", c, want)
	}
}

func TestEveryKeyIsRead(t *testing.T) {
	t.Parallel()
	const text = `
version: 1
catalogs:
  r:
    type: rest
    uri: https://c.example/
    warehouse: w
    credential: i:s
    token: 12345
    scope: sc
    oauth2_server_uri: https://o.example/t
    sigv4: {region: r1, name: glue}
    headers: {X-A: "1"}
    tls: {ca_file: a, cert_file: b, key_file: c}
    properties: {k: true, n: 0x10}
storage: [{prefix: "s3://lake/", url: "mem://"}]
defaults: {memory: 1GiB, parallelism: 7, target_puffin_size: 1000, retries: {request_attempts: 1, commit_attempts: 2, base_delay: 1s, max_delay: 2s}}
`
	c, err := Parse("f", []byte(text), nil)
	if err != nil {
		t.Fatal(err)
	}
	want := &Config{
		Version: 1,
		Catalogs: map[string]Catalog{"r": {
			Name: "r", Type: "rest", URI: "https://c.example/", Warehouse: "w", Credential: "i:s", Token: "12345",
			Scope: "sc", OAuth2ServerURI: "https://o.example/t", SigV4: &SigV4{Region: "r1", Name: "glue"},
			Headers: map[string]string{"X-A": "1"}, TLS: TLS{CAFile: "a", CertFile: "b", KeyFile: "c"},
			Properties: map[string]string{"k": "true", "n": "0x10"},
		}},
		Storage: []Mount{{Prefix: "s3://lake/", URL: "mem://"}},
		Defaults: Defaults{
			Memory: 1 << 30, Parallelism: 7, TargetPuffinSize: 1000,
			Retries: Retries{RequestAttempts: 1, CommitAttempts: 2, BaseDelay: time.Second, MaxDelay: 2 * time.Second},
		},
	}
	if !reflect.DeepEqual(c, want) {
		t.Errorf("got %+v, want %+v", c, want)
	}
}

func TestMistakes(t *testing.T) {
	t.Parallel()
	rest := func(text string) string {
		return "version: 1\ncatalogs:\n  c:\n    type: rest\n    uri: https://x\n" + text
	}
	tests := []struct {
		name, text string
		want       []string
	}{
		{"an empty file", "", []string{"f: is empty; a configuration starts with version: 1"}},
		{"only a comment", "# x\n", []string{"f: is empty; a configuration starts with version: 1"}},
		{"no mapping", "- a\n", []string{"f:1: must be a mapping of keys to values (got a list)", "f:1: version: is missing; write version: 1", "f:1: catalogs: is missing; write catalogs: {NAME: {type: rest, uri: ...}}"}},
		{"no YAML", "version: 1\n  x: [\n", []string{"f:2: is not YAML: mapping values are not allowed in this context"}},
		{"a password that starts with a star", "version: *hunter2\n", []string{"f: is not YAML: a value that starts with * refers to an anchor that does not exist; put the value in quotes"}},
		{"two documents", minimal("---\nversion: 1\n"), []string{"f:6: has a second YAML document; put everything into one"}},
		{"another version", strings.Replace(minimal(""), "version: 1", "version: 2", 1), []string{"f:1: version: is not a version that this build understands; write version: 1 (got 2)"}},
		{"no catalogs", "version: 1\ncatalogs: {}\n", []string{"f:2: catalogs: is empty; write catalogs: {NAME: {type: rest, uri: ...}}"}},
		{"an unknown key", minimal("policies: []\n"), []string{"f:6: policies: is not a known key here; known are version, catalogs, storage, defaults"}},
		{"a mistyped key", minimal("defaults: {memroy: 1GiB}\n"), []string{"f:6: defaults.memroy: is not a known key here; did you mean memory?"}},
		{"a key twice", minimal("version: 1\n"), []string{"f:6: version: is there twice, first on line 1; keep one of them"}},
		{"a catalog twice", minimal("  c: {type: sql, uri: 'sqlite:///d'}\n"), []string{"f:6: catalogs.c: is there twice, first on line 3; keep one of them"}},
		{"a merge key", minimal("  d:\n    <<: {}\n    type: sql\n    uri: sqlite:///d\n"), []string{"f:7: catalogs.d: merge keys (<<) are not supported; repeat the keys"}},
		{"a key without value", minimal("    warehouse:\n"), []string{"f:6: catalogs.c.warehouse: has no value; give it one or remove the key"}},
		{"a list for a value", minimal("    warehouse: [a]\n"), []string{"f:6: catalogs.c.warehouse: must be a single value, not a list"}},
		{"a tag", minimal("    warehouse: !!binary aGk=\n"), []string{"f:6: catalogs.c.warehouse: has a YAML tag; remove it"}},
		{"a catalog that is a value", "version: 1\ncatalogs: {c: x}\n", []string{
			"f:2: catalogs.c: must be a mapping of keys to values (got a single value)",
			"f:2: catalogs.c.type: is missing; write rest or sql",
			"f:2: catalogs.c.uri: is missing; write where the catalog is, for instance https://catalog.example/ or sqlite:///dir/catalog.db",
		}},
		{"a name with a dot", "version: 1\ncatalogs: {a.b: {type: rest, uri: 'http://x'}}\n", []string{`f:2: catalogs.a.b: has "." in its name, which has a meaning in table names; rename it`}},
		{"glue", "version: 1\ncatalogs: {c: {type: glue, uri: x}}\n", []string{"f:2: catalogs.c.type: is a kind of catalog that this build does not have; use rest or sql (got glue)"}},
		{"another type", "version: 1\ncatalogs: {c: {type: nessie, uri: x}}\n", []string{"f:2: catalogs.c.type: must be rest or sql (got nessie)"}},
		{"mysql", strings.Replace(minimal(""), "sqlite:///c.db", "mysql://u:hunter2@h/d", 1), []string{"f:5: catalogs.c.uri: is a database that this build does not have yet; use sqlite or postgres (got mysql://u:xxxxx@h/d)"}},
		{"a relative database", strings.Replace(minimal(""), "sqlite:///c.db", "sqlite://c.db", 1), []string{"f:5: catalogs.c.uri: must name the database by its absolute path: sqlite:///dir/catalog.db (got sqlite://c.db)"}},
		{"https for sql", strings.Replace(minimal(""), "sqlite:///c.db", "https://x", 1), []string{"f:5: catalogs.c.uri: is the address of a REST catalog; write type: rest (got https://x)"}},
		{"postgres for rest", strings.Replace(rest(""), "https://x", "postgres://x", 1), []string{"f:5: catalogs.c.uri: must be of the form https://host/path (got postgres://x)"}},
		{"a password that breaks the URI", strings.Replace(minimal(""), "sqlite:///c.db", "'postgres://u:hunter2%@h/d'", 1), []string{"f:5: catalogs.c.uri: must be of the form postgres://user:password@host:5432/database; it has a % that does not start an escape, write %25 (got postgres://u:xxxxx@h/d)"}},
		{"REST keys for sql", minimal("    token: hunter2\n    tls: {}\n"), []string{"f:6: catalogs.c.token: has no meaning for a catalog of type sql; remove it", "f:7: catalogs.c.tls: has no meaning for a catalog of type sql; remove it"}},
		{"a wrong boolean", rest("    sigv4: yes\n"), []string{"f:6: catalogs.c.sigv4: must be true or false (got yes)"}},
		{"a wrong key in sigv4", rest("    sigv4: {regoin: x}\n"), []string{"f:6: catalogs.c.sigv4.regoin: is not a known key here; did you mean region?"}},
		{"half a client certificate", rest("    tls: {cert_file: a}\n"), []string{"f:6: catalogs.c.tls: has only one of cert_file and key_file; a client certificate needs both"}},
		{"tls that contradicts itself", rest("    tls: {ca_file: a, insecure_skip_verify: true}\n"), []string{"f:6: catalogs.c.tls: has a ca_file and insecure_skip_verify, which ignores it; remove one of them"}},
		{"bad headers", rest("    headers:\n      a b: x\n      C: \"hunter2\\nx\"\n"), []string{"f:7: catalogs.c.headers.a b: is not the name of a header", "f:8: catalogs.c.headers.C: has a line break in its value; remove it"}},
		{"a property that is no text", rest("    properties: {a: {b: c}}\n"), []string{"f:6: catalogs.c.properties.a: must be a single value, not a mapping"}},
		{"a wrong token server", rest("    oauth2_server_uri: login\n"), []string{"f:6: catalogs.c.oauth2_server_uri: must be of the form https://host/path (got login)"}},
		{"storage that is no list", minimal("storage: {a: b}\n"), []string{"f:6: storage: must be a list (got a mapping)"}},
		{"storage without prefix and with a bad url", minimal("storage:\n  - url: ftp://x\n"), []string{"f:7: storage[0].prefix: is missing; write the start of the locations, for instance s3://lake/", "f:7: storage[0].url: must start with file:///, s3:// or mem:// (got ftp://x)"}},
		{"a prefix that is none", minimal("storage: [{prefix: lake, url: 'mem://'}]\n"), []string{"f:6: storage[0].prefix: is not the start of a location; write for instance s3://lake/ or file:///warehouse/ (got lake)"}},
		{"a prefix twice", minimal("storage:\n  - {prefix: 's3://a', url: 'mem://'}\n  - {prefix: 's3://a/', url: 'mem://'}\n"), []string{"f:8: storage[1].prefix: is mapped twice, first on line 7; keep one of them"}},
		{"a relative folder", minimal("storage: [{prefix: 's3://a', url: 'file://x/y'}]\n"), []string{"f:6: storage[0].url: must name an absolute folder with three slashes: file:///dir (got file://x/y)"}},
		{"a store of the future", minimal("storage: [{prefix: 'gs://a/', url: 'gs://a'}]\n"), []string{"f:6: storage[0].url: is a kind of store that this build does not have; use file, mem or s3 (got gs://a)"}},
		{"bad sizes and numbers", minimal("defaults:\n  memory: 1MiB\n  parallelism: 0\n  target_puffin_size: 64M\n"), []string{
			"f:7: defaults.memory: must be at least 16MiB (got 1MiB)",
			"f:8: defaults.parallelism: must be a whole number from 1 to 1024 (got 0)",
			`f:9: defaults.target_puffin_size: has the unknown unit "M"; write KiB, MiB, GiB, TiB, KB, MB, GB, TB or B (got 64M)`,
		}},
		{"bad durations", minimal("defaults: {retries: {base_delay: 10s, max_delay: 5}}\n"), []string{
			"f:6: defaults.retries.max_delay: must be a positive duration, for instance 100ms or 5s (got 5)",
			"f:6: defaults.retries.max_delay: is shorter than base_delay (got 5s and 10s)",
		}},
		{"a missing variable", minimal("    warehouse: a${NO_SUCH}b\n"), []string{"f:6: catalogs.c.warehouse: needs the environment variable NO_SUCH, which is not set"}},
		{"a missing file", minimal("    warehouse: ${file:/no/such/file}\n"), []string{"f:6: catalogs.c.warehouse: needs the file /no/such/file: no such file or directory"}},
		{"a value from a variable is not shown", minimal("defaults: {memory: '${SECRET}'}\n"), []string{"f:6: defaults.memory: is not a size; write for instance 512MiB (got ${SECRET})"}},
	}
	vars := env(map[string]string{"SECRET": "hunter2"})
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			_, err := Parse("f", []byte(tt.text), vars)
			var list Errors
			if !errors.As(err, &list) {
				t.Fatalf("got %v", err)
			}
			if got, want := err.Error(), strings.Join(tt.want, "\n"); got != want {
				t.Errorf("got\n%s\nwant\n%s", got, want)
			}
			if strings.Contains(err.Error(), "hunter2") {
				t.Error("a secret is in the error")
			}
			var one *Error
			if !errors.As(err, &one) || one.File != "f" {
				t.Errorf("no single mistake in %v", err)
			}
		})
	}
}

func TestAliasesMayRepeatAValue(t *testing.T) {
	t.Parallel()
	c, err := Parse("f", []byte(minimal("    warehouse: &w s3://lake/\n  d: {type: sql, uri: 'sqlite:///d', warehouse: *w}\n")), nil)
	if err != nil {
		t.Fatal(err)
	}
	if got := c.Catalogs["d"].Warehouse; got != "s3://lake/" {
		t.Errorf("got %q", got)
	}
}

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

func TestLoad(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "c.yaml")
	if _, err := Load(path, nil); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("missing file: %v", err)
	}
	if err := os.WriteFile(path, []byte("version: 3\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Load(path, nil); err == nil || !strings.HasPrefix(err.Error(), path+":1: version: ") {
		t.Errorf("got %v", err)
	}
}

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

func FuzzParse(f *testing.F) {
	example, err := os.ReadFile("../docs/config.example.yaml")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(example)
	f.Add([]byte(minimal("storage: [{prefix: 's3://a/', url: 'mem://'}]\ndefaults: {memory: 1GiB}\n")))
	f.Add([]byte("version: &a 1\ncatalogs: {c: *a, d: {<<: *a}}\n"))
	f.Add([]byte("a: [&x [*x]]\n? {b: c}\n: d\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		c, err := Parse("f", data, func(string) (string, bool) { return "v", true })
		if err != nil {
			var list Errors
			if !errors.As(err, &list) || len(list) == 0 {
				t.Fatalf("not a list of mistakes: %v", err)
			}
			return
		}
		out, err := c.Effective()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := Parse("f", out, nil); err != nil {
			t.Fatalf("%v\nin the effective configuration\n%s", err, out)
		}
	})
}
