package lake

import (
	"strings"

	"github.com/dvcompactor/dvcompactor/catalog"
	"github.com/dvcompactor/dvcompactor/config"
	"github.com/dvcompactor/dvcompactor/internal/cli/exit"
	"github.com/dvcompactor/dvcompactor/internal/storage"
	"github.com/dvcompactor/dvcompactor/maintenance"
)

// Source is where the settings come from: a configuration file, or a catalog named on the command line.
type Source struct {
	Config      string // path of the file
	CatalogURI  string // instead of a file
	CatalogName string // with CatalogURI; by default the catalog that the tables name
	Warehouse   string // with CatalogURI
	LookupEnv   config.LookupEnv
}

// Open makes the lake of the settings. tables are the names that the command line holds.
func (s Source) Open(tables ...string) (*Lake, error) {
	c, err := s.Load(tables...)
	if err != nil {
		return nil, exit.With(exit.Usage, err)
	}
	return New(NewSettings(c)), nil
}

// OpenOptional makes a lake without catalogs when neither a file nor a catalog is named.
func (s Source) OpenOptional(tables ...string) (*Lake, error) {
	if s.Config == "" && s.CatalogURI == "" && s.CatalogName == "" && s.Warehouse == "" {
		return New(Settings{}), nil
	}
	return s.Open(tables...)
}

// Load reads the configuration.
func (s Source) Load(tables ...string) (*config.Config, error) {
	switch {
	case s.Config == "" && s.CatalogURI == "":
		return nil, exit.Usagef("no catalog: name a configuration file with --config or a catalog with --catalog-uri")
	case s.Config != "" && s.CatalogURI != "":
		return nil, exit.Usagef("--config and --catalog-uri exclude each other")
	case s.Config != "" && (s.CatalogName != "" || s.Warehouse != ""):
		return nil, exit.Usagef("--catalog-name and --warehouse go with --catalog-uri: the configuration file has its own")
	case s.Config != "":
		return config.Load(s.Config, s.LookupEnv)
	}
	name := s.CatalogName
	if name == "" {
		name = named(tables)
	}
	return config.FromCatalogURI(config.CatalogURI{Name: name, URI: s.CatalogURI, Warehouse: s.Warehouse})
}

// named is the catalog that the first table with three levels names. In the database of a SQL catalog it is a part of
// the key of every table.
func named(tables []string) string {
	for _, t := range tables {
		levels := strings.Split(t, ".")
		if len(levels) > 2 && !config.IsGlob(levels[0]) && !IsLocation(t) {
			return levels[0]
		}
	}
	return ""
}

// NewSettings takes out of a configuration what commands need.
func NewSettings(c *config.Config) Settings {
	s := Settings{Catalogs: map[string]catalog.Options{}}
	for _, m := range c.Storage {
		s.Mounts = append(s.Mounts, storage.Mount{Prefix: m.Prefix, URL: m.URL})
	}
	if len(c.Policies) > 0 {
		s.PolicyFor = c.PolicyFor
	}
	d := c.Defaults
	s.Retries = storage.RetryOptions{Attempts: d.Retries.RequestAttempts, BaseDelay: d.Retries.BaseDelay, MaxDelay: d.Retries.MaxDelay}
	for name, entry := range c.Catalogs {
		s.Catalogs[name] = catalogOptions(entry, s.Mounts, s.Retries)
	}
	s.Defaults = Defaults{
		Memory: int64(d.Memory), Parallelism: d.Parallelism, TargetPuffinSize: int64(d.TargetPuffinSize), CoolDown: d.CoolDown,
		Retry: maintenance.Retry{Attempts: d.Retries.CommitAttempts, BaseDelay: d.Retries.BaseDelay, MaxDelay: d.Retries.MaxDelay},
	}
	return s
}

func catalogOptions(c config.Catalog, mounts []storage.Mount, retries storage.RetryOptions) catalog.Options {
	o := catalog.Options{
		Name: c.Name, Type: c.Type, URI: c.URI, Warehouse: c.Warehouse, Credential: c.Credential, Token: c.Token, Scope: c.Scope,
		OAuth2ServerURI: c.OAuth2ServerURI, Headers: c.Headers, TLS: catalog.TLSOptions(c.TLS), Properties: c.Properties, Mounts: mounts, Retry: retries,
	}
	if c.SigV4 != nil {
		o.SigV4, o.SigV4Region, o.SigV4Name = true, c.SigV4.Region, c.SigV4.Name
	}
	return o
}
