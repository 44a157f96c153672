package config

import (
	"errors"
	"maps"
	"net/url"
	"strings"
)

// CatalogURI is a catalog given on the command line.
type CatalogURI struct {
	// Name is the name of the catalog; empty means "default".
	Name string
	// URI is sqlite:///ABSOLUTE/PATH, postgres://..., mysql://..., https://..., thrift://host:9083, or glue://REGION, with no
	// region for that of the environment.
	URI string
	// Warehouse is the warehouse of the catalog, if it needs one.
	Warehouse string
	// Properties are passed on to the catalog and to the file access of its tables.
	Properties map[string]string
}

// FromCatalogURI returns the configuration with the one catalog of a command line. The error never holds a password.
func FromCatalogURI(c CatalogURI) (*Config, error) {
	if c.Name == "" {
		c.Name = "default"
	}
	if reason := checkCatalogName(c.Name); reason != "" {
		return nil, &Error{File: "command line", Path: "catalog name", Reason: reason, Got: c.Name}
	}
	kind, reason := kindOfURI(c.URI), ""
	if kind == TypeGlue {
		c, reason = glueOfURI(c)
	} else {
		reason = checkCatalogURI(kind, c.URI)
	}
	if reason != "" {
		return nil, &Error{File: "command line", Path: "catalog URI", Reason: reason, Got: Redact(c.URI)}
	}
	return &Config{
		Version: Version,
		Catalogs: map[string]Catalog{c.Name: {
			Name: c.Name, Type: kind, URI: c.URI, Warehouse: c.Warehouse, Properties: c.Properties,
		}},
		Defaults: DefaultDefaults(),
		Daemon:   DefaultDaemon(),
	}, nil
}

// kindOfURI is the type of the catalog that a URI on the command line means.
func kindOfURI(uri string) string {
	scheme, _, _ := strings.Cut(uri, ":")
	switch scheme {
	case "http", "https":
		return TypeREST
	case "glue":
		return TypeGlue
	case "thrift":
		return TypeHive
	}
	return TypeSQL
}

// glueOfURI turns glue://REGION into what an entry of the file says: a property, and no address. It returns why that
// cannot be done, or "".
func glueOfURI(c CatalogURI) (CatalogURI, string) {
	region, ok := strings.CutPrefix(c.URI, "glue://")
	if !ok || strings.Trim(region, "abcdefghijklmnopqrstuvwxyz0123456789-") != "" {
		return c, "must name a region, as glue://eu-west-1, or none: glue://"
	}
	c.URI = ""
	if region != "" {
		c.Properties = maps.Clone(c.Properties)
		if c.Properties == nil {
			c.Properties = map[string]string{}
		}
		c.Properties["glue.region"] = region
	}
	return c, ""
}

// checkThrift returns why a text is no list of metastores, or "".
func checkThrift(uri string) string {
	const want = "must be of the form thrift://host:9083, several with commas between them"
	for part := range strings.SplitSeq(uri, ",") {
		part = strings.TrimSpace(part)
		if !strings.HasPrefix(part, "thrift://") {
			return want
		}
		if reason := checkHost(part, want); reason != "" {
			return reason
		}
	}
	return ""
}

// checkCatalogURI returns why a URI cannot be that of a catalog of the given type, or "".
func checkCatalogURI(kind, uri string) string {
	if kind == TypeREST || kind == TypeGlue {
		return checkHTTP(uri)
	}
	if kind == TypeHive {
		return checkThrift(uri)
	}
	scheme, rest, _ := strings.Cut(uri, ":")
	switch scheme {
	case "sqlite":
		path, ok := strings.CutPrefix(rest, "//")
		if !ok || !strings.HasPrefix(path, "/") || strings.Trim(path, "/") == "" {
			return "must name the database by its absolute path: sqlite:///dir/catalog.db"
		}
		return ""
	case "postgres", "postgresql":
		return checkHost(uri, "must be of the form postgres://user:password@host:5432/database")
	case "mysql", "mariadb":
		if strings.Contains(rest, "socket=") {
			return ""
		}
		return checkHost(uri, "must be of the form mysql://user:password@host:3306/database")
	case "http", "https":
		return "is the address of a REST catalog; write type: rest"
	default:
		return "must start with sqlite:///, postgres:// or mysql://"
	}
}

// checkHTTP returns why a URI is not an address to send requests to, or "".
func checkHTTP(uri string) string {
	const want = "must be of the form https://host/path"
	if !strings.HasPrefix(uri, "http://") && !strings.HasPrefix(uri, "https://") {
		return want
	}
	return checkHost(uri, want)
}

// checkHost returns want and the reason when a URI cannot be parsed or has no host, else "".
func checkHost(uri, want string) string {
	u, err := url.Parse(uri)
	if err != nil {
		return want + parseReason(err)
	}
	if u.Host == "" {
		return want
	}
	return ""
}

// parseReason explains errors of url.Parse without their texts, which hold parts of the URI.
func parseReason(err error) string {
	var escape url.EscapeError
	var host url.InvalidHostError
	switch {
	case errors.As(err, &escape):
		return "; it has a % that does not start an escape, write %25"
	case errors.As(err, &host):
		return "; its host has a character that must be escaped"
	default:
		return "; escape the special characters in the password, for instance @ as %40 and / as %2F"
	}
}

// checkStorageURL returns why a URL cannot be where objects are, or "".
func checkStorageURL(raw string) string {
	u, err := url.Parse(raw)
	if err != nil {
		return "is not a URL; write for instance file:///dir or s3://bucket?region=eu-west-1"
	}
	switch u.Scheme {
	case "file":
		if u.Host != "" && u.Host != "localhost" || !strings.HasPrefix(u.Path, "/") {
			return "must name an absolute folder with three slashes: file:///dir"
		}
	case "s3":
		if u.Host == "" {
			return "must name a bucket: s3://bucket?region=eu-west-1"
		}
	case "mem":
	case "gs":
		if u.Host == "" {
			return "must name a bucket: gs://bucket"
		}
	case "azblob":
		if u.Host == "" {
			return "must name a container: azblob://container?storage_account=name"
		}
	default:
		return "must start with file:///, s3://, gs://, azblob:// or mem://"
	}
	return ""
}
