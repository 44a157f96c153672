package config

import (
	"errors"
	"strings"
	"testing"
)

// mistake is a configuration and what is said about it.
type mistake struct {
	name, text string
	want       []string
}

func TestMistakes(t *testing.T) {
	t.Parallel()
	rest := func(text string) string {
		return "version: 1\ncatalogs:\n  c:\n    type: rest\n    uri: https://x\n" + text
	}
	checkMistakes(t, []mistake{
		{"an empty file", "", []string{"f: is empty; a configuration starts with version: 1"}},
		{"only a comment", "# x\n", []string{"f: is empty; a configuration starts with version: 1"}},
		{"no mapping", "- a\n", []string{"f:1: must be a mapping of keys to values (got a list)", "f:1: version: is missing; write version: 1", "f:1: catalogs: is missing; write catalogs: {NAME: {type: rest, uri: ...}}"}},
		{"no YAML", "version: 1\n  x: [\n", []string{"f:2: is not YAML: mapping values are not allowed in this context"}},
		{"a password that starts with a star", "version: *hunter2\n", []string{"f: is not YAML: a value that starts with * refers to an anchor that does not exist; put the value in quotes"}},
		{"two documents", minimal("---\nversion: 1\n"), []string{"f:6: has a second YAML document; put everything into one"}},
		{"another version", strings.Replace(minimal(""), "version: 1", "version: 2", 1), []string{"f:1: version: is not a version that this build understands; write version: 1 (got 2)"}},
		{"no catalogs", "version: 1\ncatalogs: {}\n", []string{"f:2: catalogs: is empty; write catalogs: {NAME: {type: rest, uri: ...}}"}},
		{"an unknown key", minimal("tables: []\n"), []string{"f:6: tables: is not a known key here; known are version, catalogs, storage, defaults, policies, daemon"}},
		{"a mistyped key", minimal("defaults: {memroy: 1GiB}\n"), []string{"f:6: defaults.memroy: is not a known key here; did you mean memory?"}},
		{"a key twice", minimal("version: 1\n"), []string{"f:6: version: is there twice, first on line 1; keep one of them"}},
		{"a catalog twice", minimal("  c: {type: sql, uri: 'sqlite:///d'}\n"), []string{"f:6: catalogs.c: is there twice, first on line 3; keep one of them"}},
		{"a merge key", minimal("  d:\n    <<: {}\n    type: sql\n    uri: sqlite:///d\n"), []string{"f:7: catalogs.d: merge keys (<<) are not supported; repeat the keys"}},
		{"a key without value", minimal("    warehouse:\n"), []string{"f:6: catalogs.c.warehouse: has no value; give it one or remove the key"}},
		{"a list for a value", minimal("    warehouse: [a]\n"), []string{"f:6: catalogs.c.warehouse: must be a single value, not a list"}},
		{"a tag", minimal("    warehouse: !!binary aGk=\n"), []string{"f:6: catalogs.c.warehouse: has a YAML tag; remove it"}},
		{"a catalog that is a value", "version: 1\ncatalogs: {c: x}\n", []string{
			"f:2: catalogs.c: must be a mapping of keys to values (got a single value)",
			"f:2: catalogs.c.type: is missing; write rest, sql, glue or hive",
			"f:2: catalogs.c.uri: is missing; write where the catalog is, for instance https://catalog.example/ or sqlite:///dir/catalog.db",
		}},
		{"a name with a dot", "version: 1\ncatalogs: {a.b: {type: rest, uri: 'http://x'}}\n", []string{`f:2: catalogs.a.b: has "." in its name, which has a meaning in table names; rename it`}},
		{"glue at an address that is none", "version: 1\ncatalogs: {c: {type: glue, uri: x}}\n", []string{"f:2: catalogs.c.uri: must be of the form https://host/path (got x)"}},
		{"glue with a token", "version: 1\ncatalogs: {c: {type: glue, token: hunter2}}\n", []string{"f:2: catalogs.c.token: has no meaning for a catalog of type glue; remove it"}},
		{"hive at an address that is none", "version: 1\ncatalogs: {c: {type: hive, uri: 'thrift://a,https://b'}}\n", []string{"f:2: catalogs.c.uri: must be of the form thrift://host:9083, several with commas between them (got thrift://a,https://b)"}},
		{"hive with a token", "version: 1\ncatalogs: {c: {type: hive, uri: 'thrift://a', token: hunter2}}\n", []string{"f:2: catalogs.c.token: has no meaning for a catalog of type hive; remove it"}},
		{"hadoop", "version: 1\ncatalogs: {c: {type: hadoop, uri: 'http://x'}}\n", []string{"f:2: catalogs.c.type: is a kind of catalog without compare-and-swap, in which two writers can undo each other's commits; register its tables in one of rest, sql, glue or hive (got hadoop)"}},
		{"another type", "version: 1\ncatalogs: {c: {type: nessie, uri: x}}\n", []string{"f:2: catalogs.c.type: must be rest, sql, glue or hive (got nessie)"}},
		{"mysql without a host", strings.Replace(minimal(""), "sqlite:///c.db", "mysql://u:hunter2@/d", 1), []string{"f:5: catalogs.c.uri: must be of the form mysql://user:password@host:3306/database (got mysql://u:xxxxx@/d)"}},
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
		{"storage without prefix and with a bad url", minimal("storage:\n  - url: ftp://x\n"), []string{"f:7: storage[0].prefix: is missing; write the start of the locations, for instance s3://lake/", "f:7: storage[0].url: must start with file:///, s3://, gs://, azblob:// or mem:// (got ftp://x)"}},
		{"a prefix that is none", minimal("storage: [{prefix: lake, url: 'mem://'}]\n"), []string{"f:6: storage[0].prefix: is not the start of a location; write for instance s3://lake/ or file:///warehouse/ (got lake)"}},
		{"a prefix twice", minimal("storage:\n  - {prefix: 's3://a', url: 'mem://'}\n  - {prefix: 's3://a/', url: 'mem://'}\n"), []string{"f:8: storage[1].prefix: is mapped twice, first on line 7; keep one of them"}},
		{"a relative folder", minimal("storage: [{prefix: 's3://a', url: 'file://x/y'}]\n"), []string{"f:6: storage[0].url: must name an absolute folder with three slashes: file:///dir (got file://x/y)"}},
		{"a mapping to no bucket of Google's", minimal("storage: [{prefix: 'gs://a/', url: 'gs://'}]\n"), []string{"f:6: storage[0].url: must name a bucket: gs://bucket (got gs://)"}},
		{"a mapping to no container", minimal("storage: [{prefix: 'abfss://a@b/', url: 'azblob:///a'}]\n"), []string{"f:6: storage[0].url: must name a container: azblob://container?storage_account=name (got azblob:///a)"}},
		{"bad sizes and numbers", minimal("defaults:\n  memory: 1MiB\n  parallelism: 0\n  target_puffin_size: 64M\n  cool_down: -1s\n"), []string{
			"f:7: defaults.memory: must be at least 16MiB (got 1MiB)",
			"f:8: defaults.parallelism: must be a whole number from 1 to 1024 (got 0)",
			`f:9: defaults.target_puffin_size: has the unknown unit "M"; write KiB, MiB, GiB, TiB, KB, MB, GB, TB or B (got 64M)`,
			"f:10: defaults.cool_down: must be a duration, for instance 15m, or 0s for none (got -1s)",
		}},
		{"bad durations", minimal("defaults: {retries: {base_delay: 10s, max_delay: 5}}\n"), []string{
			"f:6: defaults.retries.max_delay: must be a positive duration, for instance 100ms or 5s (got 5)",
			"f:6: defaults.retries.max_delay: is shorter than base_delay (got 5s and 10s)",
		}},
		{"a missing variable", minimal("    warehouse: a${NO_SUCH}b\n"), []string{"f:6: catalogs.c.warehouse: needs the environment variable NO_SUCH, which is not set"}},
		{"a missing file", minimal("    warehouse: ${file:/no/such/file}\n"), []string{"f:6: catalogs.c.warehouse: needs the file /no/such/file: no such file or directory"}},
		{"a value from a variable is not shown", minimal("defaults: {memory: '${SECRET}'}\n"), []string{"f:6: defaults.memory: is not a size; write for instance 512MiB (got ${SECRET})"}},
	})
}

// checkMistakes parses each of the configurations. hunter2 is a secret in them.
func checkMistakes(t *testing.T, tests []mistake) {
	t.Helper()
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
