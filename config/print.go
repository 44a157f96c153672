package config

import (
	"bytes"
	"fmt"
	"maps"
	"slices"

	"gopkg.in/yaml.v3"
)

// Masked returns a copy of the configuration in which every secret is replaced.
func (c *Config) Masked() *Config {
	out := *c
	out.Catalogs = maps.Clone(c.Catalogs)
	for name, catalog := range out.Catalogs {
		out.Catalogs[name] = catalog.masked()
	}
	out.Storage = slices.Clone(c.Storage)
	for i := range out.Storage {
		out.Storage[i].URL = Redact(out.Storage[i].URL)
	}
	out.Daemon = c.Daemon.masked()
	return &out
}

func (c Catalog) masked() Catalog {
	c.URI = Redact(c.URI)
	c.Warehouse = Redact(c.Warehouse)
	c.OAuth2ServerURI = Redact(c.OAuth2ServerURI)
	c.Credential = mask(c.Credential)
	c.Token = mask(c.Token)
	c.Headers = maskValues(c.Headers)
	c.Properties = maskValues(c.Properties)
	return c
}

// Effective returns the configuration as YAML, with defaults filled in, references replaced and secrets masked.
func (c *Config) Effective() ([]byte, error) {
	const indent = 2
	var out bytes.Buffer
	encoder := yaml.NewEncoder(&out)
	encoder.SetIndent(indent)
	if err := encoder.Encode(c.Masked()); err != nil {
		return nil, fmt.Errorf("print configuration: %w", err)
	}
	if err := encoder.Close(); err != nil {
		return nil, fmt.Errorf("print configuration: %w", err)
	}
	// A literal ${ stays one when the output is read as a configuration.
	return bytes.ReplaceAll(out.Bytes(), []byte("${"), []byte("$${")), nil
}
