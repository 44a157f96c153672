package config

import (
	"errors"
	"reflect"
	"strings"
	"testing"
)

func TestEffectiveMasksEverySecret(t *testing.T) {
	t.Parallel()
	const text = `
version: 1
catalogs:
  r:
    type: rest
    uri: https://user:hunter2@c.example/?token=hunter2
    credential: ${C}
    token: hunter2
    headers: {Authorization: Bearer hunter2, X-Api-Key: hunter2, Cookie: hunter2, X-Tenant: shown}
    properties:
      s3.secret-access-key: hunter2
      s3.session-token: hunter2
      s3.access-key-id: shown
      s3.endpoint: http://u:hunter2@e
      adls.sas-token.acct: hunter2
      gcs.jsonkey: hunter2
      oauth2-server-uri: https://shown/
  s:
    type: sql
    uri: postgres://u:hunter2@h/d?sslpassword=hunter2&sslmode=shown
storage:
  - {prefix: "s3://a/", url: "s3://a?region=shown&secret_key=hunter2"}
daemon: {token: hunter2, state: "s3://u:hunter2@shown/", webhook: "https://u:hunter2@shown/hunter2?hunter2#hunter2"}
`
	c, err := Parse("f", []byte(text), env(map[string]string{"C": "id:hunter2"}))
	if err != nil {
		t.Fatal(err)
	}
	out, err := c.Effective()
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(out), "hunter2") {
		t.Errorf("a secret is shown:\n%s", out)
	}
	if got := strings.Count(string(out), "shown"); got != 7 {
		t.Errorf("%d of 7 harmless values are shown:\n%s", got, out)
	}
	if c.Catalogs["r"].Token != "hunter2" || c.Storage[0].URL == c.Masked().Storage[0].URL || c.Catalogs["r"].Headers["Cookie"] != "hunter2" || c.Daemon.Token != "hunter2" {
		t.Error("masking changed the configuration itself")
	}
}

func TestEffectiveIsAConfiguration(t *testing.T) {
	t.Parallel()
	c, err := Load("../docs/config.example.yaml", nil)
	if err != nil {
		t.Fatal(err)
	}
	r := c.Catalogs["prod"]
	r.SigV4, r.Scope = &SigV4{}, "literal ${NOT_A_VARIABLE}"
	c.Catalogs["prod"] = r
	out, err := c.Effective()
	if err != nil {
		t.Fatal(err)
	}
	again, err := Parse("printed", out, nil)
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if want := c.Masked(); !reflect.DeepEqual(again, want) {
		t.Errorf("got %+v, want %+v", again, want)
	}
}

func TestRedact(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"":                                  "",
		"no url":                            "no url",
		"postgres://u:p@h:5432/d":           "postgres://u:xxxxx@h:5432/d",
		"postgres://u@h/d":                  "postgres://xxxxx@h/d",
		"postgres://u:p@ss/w?rd@h/d":        "postgres://u:xxxxx@h/d",
		"postgres://h/d?user=u&password=p":  "postgres://h/d?user=u&password=xxxxx",
		"s3://b?region=r&endpoint=http://e": "s3://b?region=r&endpoint=http://e",
		"https://x/?sig=abc&a=b":            "https://x/?sig=xxxxx&a=b",
		"s3://bucket/a@b":                   "s3://bucket/a@b",
		`dial "https://u:p@h/": refused`:    `dial "https://u:xxxxx@h/": refused`,
		"a://u:p@h and b://v:q@i":           "a://u:xxxxx@h and b://v:xxxxx@i",
		"sqlite:///dir/c.db":                "sqlite:///dir/c.db",
		"abfss://c@a.dfs.host/k?sig=s":      "abfss://c@a.dfs.host/k?sig=xxxxx", // c is a container
	} {
		if got := Redact(in); got != want {
			t.Errorf("Redact(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestFromCatalogURI(t *testing.T) {
	t.Parallel()
	for uri, kind := range map[string]string{
		"sqlite:///dir/catalog.db": TypeSQL, "postgres://u:p@h/d": TypeSQL, "mysql://u:p@h/d": TypeSQL, "mariadb:///d?socket=/run/s": TypeSQL, "https://c.example/": TypeREST, "http://127.0.0.1:8181": TypeREST,
		"thrift://h": TypeHive, "thrift://h:1, thrift://i": TypeHive,
	} {
		c, err := FromCatalogURI(CatalogURI{URI: uri, Warehouse: "w"})
		if err != nil {
			t.Errorf("%s: %v", uri, err)
			continue
		}
		want := map[string]Catalog{"default": {Name: "default", Type: kind, URI: uri, Warehouse: "w"}}
		if !reflect.DeepEqual(c.Catalogs, want) || c.Defaults != DefaultDefaults() || c.Daemon != DefaultDaemon() {
			t.Errorf("%s: got %+v", uri, c)
		}
	}
	for _, bad := range []CatalogURI{
		{}, {URI: "catalog.db"}, {URI: "sqlite:catalog.db"}, {URI: "mysql://u:hunter2@/d"}, {URI: "https://"},
		{URI: "ftp://u:hunter2@h"}, {URI: "thrift://h,h"}, {URI: "thrift://"}, {URI: "glue:eu"}, {URI: "glue://u:hunter2@h"}, {URI: "sqlite:///c.db", Name: "a.b"},
	} {
		_, err := FromCatalogURI(bad)
		var mistake *Error
		if !errors.As(err, &mistake) || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%+v: got %v", bad, err)
		}
	}
}

func TestAGlueURINamesItsRegion(t *testing.T) {
	t.Parallel()
	for uri, properties := range map[string]map[string]string{"glue://": {"a": "b"}, "glue://eu-west-1": {"a": "b", "glue.region": "eu-west-1"}} {
		given := map[string]string{"a": "b"}
		c, err := FromCatalogURI(CatalogURI{URI: uri, Properties: given})
		if err != nil {
			t.Errorf("%s: %v", uri, err)
			continue
		}
		want := map[string]Catalog{"default": {Name: "default", Type: TypeGlue, Properties: properties}}
		if !reflect.DeepEqual(c.Catalogs, want) || len(given) != 1 {
			t.Errorf("%s: got %+v", uri, c.Catalogs)
		}
	}
}
