package config

import (
	"fmt"
	"strings"

	"gopkg.in/yaml.v3"
)

func (d *decoder) catalogs(root *mapping) map[string]Catalog {
	const hint = "write catalogs: {NAME: {type: rest, uri: ...}}"
	if !root.has("catalogs") {
		root.asked = append(root.asked, "catalogs")
		root.fail("catalogs", "is missing; "+hint, "")
		return nil
	}
	m := root.mapping("catalogs")
	if len(m.keys) == 0 && target(root.fields["catalogs"].value).Kind == yaml.MappingNode {
		root.fail("catalogs", "is empty; "+hint, "")
	}
	out := make(map[string]Catalog, len(m.keys))
	for _, name := range m.keys {
		if reason := checkCatalogName(name); reason != "" {
			m.fail(name, reason, "")
		}
		entry := m.mapping(name)
		entry.line = m.lineOf(name)
		out[name] = d.catalog(name, entry)
	}
	return out
}

// checkCatalogName returns why a name cannot stand at the start of catalog.namespace.table, or "".
func checkCatalogName(name string) string {
	if name == "" {
		return "has an empty name"
	}
	if i := strings.IndexAny(name, ".*?[]{}!/\\,\"'` \t\r\n"); i >= 0 {
		return fmt.Sprintf("has %q in its name, which has a meaning in table names; rename it", name[i:i+1])
	}
	return ""
}

func (d *decoder) catalog(name string, m *mapping) Catalog {
	c := Catalog{Name: name, Type: d.catalogType(m)}
	uri := d.catalogURI(m, c.Type)
	if uri.text != "" && c.Type != "" {
		if reason := checkCatalogURI(c.Type, uri.text); reason != "" {
			m.fail("uri", reason, uri.shown())
		}
	}
	c.URI = uri.text
	c.Warehouse = m.str("warehouse")
	c.Properties = m.strings("properties", nil)
	d.rest(m, &c)
	m.finish()
	return c
}

// catalogURI reads the address. Glue has one in every region.
func (d *decoder) catalogURI(m *mapping, kind string) scalar {
	if kind == TypeGlue {
		return m.scalar("uri")
	}
	return m.required("uri", "write where the catalog is, for instance https://catalog.example/ or sqlite:///dir/catalog.db")
}

func (d *decoder) catalogType(m *mapping) string {
	s := m.required("type", "write rest, sql, glue or hive")
	switch s.text {
	case TypeREST, TypeSQL, TypeGlue, TypeHive:
		return s.text
	case "hadoop":
		m.fail("type", "is a kind of catalog without compare-and-swap, in which two writers can undo each other's commits; register its tables in one of rest, sql, glue or hive", s.shown())
	default:
		if s.set {
			m.fail("type", "must be rest, sql, glue or hive", s.shown())
		}
	}
	return ""
}

// rest reads what only REST catalogs have.
func (d *decoder) rest(m *mapping, c *Catalog) {
	c.Credential = m.str("credential")
	c.Token = m.str("token")
	c.Scope = m.str("scope")
	server := m.scalar("oauth2_server_uri")
	if server.set {
		if reason := checkHTTP(server.text); reason != "" {
			m.fail("oauth2_server_uri", reason, server.shown())
		}
	}
	c.OAuth2ServerURI = server.text
	c.SigV4 = d.sigV4(m)
	c.Headers = m.strings("headers", checkHeader)
	c.TLS = d.tls(m)
	if c.Type == TypeREST || c.Type == "" {
		return
	}
	for _, key := range []string{"credential", "token", "scope", "oauth2_server_uri", "sigv4", "headers", "tls"} {
		if m.has(key) {
			m.fail(key, "has no meaning for a catalog of type "+c.Type+"; remove it", "")
		}
	}
}

// sigV4 reads true, false or {region, name}.
func (d *decoder) sigV4(m *mapping) *SigV4 {
	if m.has("sigv4") && target(m.fields["sigv4"].value).Kind == yaml.ScalarNode {
		if !m.boolean("sigv4") {
			return nil
		}
		return &SigV4{}
	}
	inner := m.mapping("sigv4")
	if !m.has("sigv4") {
		return nil
	}
	out := &SigV4{Region: inner.str("region"), Name: inner.str("name")}
	inner.finish()
	return out
}

// checkHeader returns why a header cannot be sent, or "". It never holds the value.
func checkHeader(name, value string) string {
	switch {
	case !isHeaderName(name):
		return "is not the name of a header"
	case strings.ContainsAny(value, "\r\n\x00"):
		return "has a line break in its value; remove it"
	default:
		return ""
	}
}

// isHeaderName tells whether name is a token of RFC 9110.
func isHeaderName(name string) bool {
	for _, c := range name {
		alphanumeric := '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
		if !alphanumeric && !strings.ContainsRune("!#$%&'*+-.^_`|~", c) {
			return false
		}
	}
	return name != ""
}

func (d *decoder) tls(m *mapping) TLS {
	inner := m.mapping("tls")
	out := TLS{
		CAFile:             inner.str("ca_file"),
		CertFile:           inner.str("cert_file"),
		KeyFile:            inner.str("key_file"),
		InsecureSkipVerify: inner.boolean("insecure_skip_verify"),
	}
	inner.finish()
	if inner.has("cert_file") != inner.has("key_file") {
		m.fail("tls", "has only one of cert_file and key_file; a client certificate needs both", "")
	}
	if out.InsecureSkipVerify && out.CAFile != "" {
		m.fail("tls", "has a ca_file and insecure_skip_verify, which ignores it; remove one of them", "")
	}
	return out
}
