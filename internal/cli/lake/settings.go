package lake

import (
	"cmp"
	"time"

	"github.com/dvcompactor/dvcompactor/catalog"
	"github.com/dvcompactor/dvcompactor/config"
	"github.com/dvcompactor/dvcompactor/internal/storage"
	"github.com/dvcompactor/dvcompactor/maintenance"
)

// Settings are what a command needs of the configuration.
type Settings struct {
	Catalogs map[string]catalog.Options
	Mounts   []storage.Mount
	Retries  storage.RetryOptions // of requests to a store
	Defaults Defaults
	// PolicyFor finds the policy of a table, see [config.Config.PolicyFor]; nil when the configuration has none.
	PolicyFor func(table string, check bool) (*config.Policy, string)
	// Observe, if set, is told of every request to a store: see [storage.Options.Observe].
	Observe func(op storage.Op, took time.Duration, err error)
}

// Defaults hold where the command line says nothing. Zero means the program's own default.
type Defaults struct {
	Memory           int64 // bytes
	Parallelism      int
	TargetPuffinSize int64 // bytes
	CoolDown         time.Duration
	Retry            maintenance.Retry
}

// Fill completes options with the defaults.
func (d Defaults) Fill(o maintenance.Options) maintenance.Options {
	o.Memory = cmp.Or(o.Memory, d.Memory)
	o.Parallelism = cmp.Or(o.Parallelism, d.Parallelism)
	o.TargetPuffinSize = cmp.Or(o.TargetPuffinSize, d.TargetPuffinSize)
	o.CoolDown = cmp.Or(o.CoolDown, d.CoolDown)
	o.Retry = cmp.Or(o.Retry, d.Retry)
	return o
}
