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
	if got := c.CatalogNames(); !slices.Equal(got, []string{"aws", "glue", "hive", "local", "prod", "warehouse"}) {
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
	daemon := c.Daemon
	daemon.State, daemon.Token, daemon.Webhook, daemon.Pprof, daemon.TLS = "", "", "", "", ServerTLS{}
	if daemon != DefaultDaemon() {
		t.Errorf("the example does not show the defaults: %+v", daemon)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, key := range append(yamlKeys(reflect.TypeFor[Config]()), TriggerNames()...) {
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
		Daemon: Daemon{
			Listen: "127.0.0.1:9464", Parallelism: 4, ParallelismPerCatalog: 2, Discovery: 5 * time.Minute, Deadline: time.Hour,
			Failures: 3, Grace: 5 * time.Minute, TableLabel: true,
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
defaults: {memory: 1GiB, parallelism: 7, target_puffin_size: 1000, cool_down: 15m, retries: {request_attempts: 1, commit_attempts: 2, base_delay: 1s, max_delay: 2s}}
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
			Memory: 1 << 30, Parallelism: 7, TargetPuffinSize: 1000, CoolDown: 15 * time.Minute,
			Retries: Retries{RequestAttempts: 1, CommitAttempts: 2, BaseDelay: time.Second, MaxDelay: 2 * time.Second},
		},
		Daemon: DefaultDaemon(),
	}
	if !reflect.DeepEqual(c, want) {
		t.Errorf("got %+v, want %+v", c, want)
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

func FuzzParse(f *testing.F) {
	example, err := os.ReadFile("../docs/config.example.yaml")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(example)
	f.Add([]byte(minimal("storage: [{prefix: 's3://a/', url: 'mem://'}]\ndefaults: {memory: 1GiB}\n")))
	f.Add([]byte(policy(", window: {start: 22:00, end: '24:00'}, triggers: {all: [{dead_puffin_ratio: 1}]}, cool_down: 0s, budget: {bytes: 1}")))
	f.Add([]byte(checking(", level: vectors, subset: 2/7, jitter: 1s") + "daemon: {webhook: 'http://a:b@c/d', listen: ':1', token: t}\n"))
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
