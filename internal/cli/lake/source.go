package lake

import (
	"fmt"
	"os"

	"github.com/dvcompactor/dvcompactor/catalog"
	"github.com/dvcompactor/dvcompactor/internal/cli/exit"
	"github.com/dvcompactor/dvcompactor/internal/storage"
	"gopkg.in/yaml.v3"
)

// Source is where the settings come from.
type Source struct {
	Config     string // path of the configuration file
	CatalogURI string // instead of a file
	Warehouse  string // with CatalogURI
	LookupEnv  func(string) (string, bool)
}

// Load reads the settings.
func (s Source) Load() (Settings, error) {
	raw, err := os.ReadFile(s.Config)
	if err != nil {
		return Settings{}, exit.With(exit.Usage, err)
	}
	var f struct {
		Catalogs map[string]struct{ Type, URI, Warehouse string }
		Storage  []struct{ Prefix, URL string }
	}
	if err := yaml.Unmarshal(raw, &f); err != nil {
		return Settings{}, exit.With(exit.Usage, fmt.Errorf("%s: %w", s.Config, err))
	}
	out := Settings{Catalogs: map[string]catalog.Options{}}
	for _, m := range f.Storage {
		out.Mounts = append(out.Mounts, storage.Mount{Prefix: m.Prefix, URL: m.URL})
	}
	for name, c := range f.Catalogs {
		out.Catalogs[name] = catalog.Options{Name: name, Type: c.Type, URI: c.URI, Warehouse: c.Warehouse, Mounts: out.Mounts}
	}
	return out, nil
}

// Open makes the lake of the settings.
func (s Source) Open() (*Lake, error) {
	settings, err := s.Load()
	if err != nil {
		return nil, err
	}
	return New(settings), nil
}
