package config

import (
	"time"
)

// Policy says which tables are maintained, when, and how. The most specific policy that matches a table is the one that
// counts, and no other.
type Policy struct {
	// Name is unique in the file.
	Name string `yaml:"name"`
	// Tables are globs of catalog.namespace.table, as [MatchTable] reads them. Exclude takes tables out again.
	Tables  []string `yaml:"tables"`
	Exclude []string `yaml:"exclude,omitempty"`
	// Action is compact, migrate or check.
	Action string `yaml:"action"`
	// Ref is the branch; empty means main.
	Ref string `yaml:"ref,omitempty"`
	// Schedule is a cron expression of five fields, or a descriptor as @hourly, in Timezone.
	Schedule string `yaml:"schedule"`
	// Timezone is a name of the IANA database; empty means UTC.
	Timezone string `yaml:"timezone,omitempty"`
	// Jitter spreads the runs of different tables over this time after the schedule: each table has its own delay.
	Jitter time.Duration `yaml:"jitter,omitempty"`
	// Window is the part of the day in which runs may begin; nil means all of it.
	Window *Window `yaml:"window,omitempty"`
	// Triggers say when there is enough to gain; empty ones mean always. They are for compact and migrate.
	Triggers Triggers `yaml:"triggers,omitempty"`
	// Where is a predicate over the partitions to work on, as package maintenance/where reads it; empty means all. It is for
	// compact and migrate.
	Where string `yaml:"where,omitempty"`
	// CoolDown overrides that of the defaults; nil means those.
	CoolDown *time.Duration `yaml:"cool_down,omitempty"`
	// Granularity is file or partition, of the position delete files that compact writes into tables of format version 2;
	// empty means what the table says.
	Granularity string `yaml:"granularity,omitempty"`
	// MinInputFiles is the number of small position delete files that are worth rewriting in one partition of such a table; 0
	// means the program's default.
	MinInputFiles int `yaml:"min_input_files,omitempty"`
	// Budget bounds what one scheduled round of the policy may cost; what is left over is for the next round.
	Budget Budget `yaml:"budget,omitempty"`
	// UpgradeFormat lets migrate upgrade tables to format version 3, which cannot be undone.
	UpgradeFormat bool `yaml:"upgrade_format,omitempty"`
	// Level is how deep check looks: manifests, footers or vectors; empty means manifests.
	Level string `yaml:"level,omitempty"`
	// Subset is the part of the data files that a check at level vectors reads at a time, as 10% or 2/7; empty means all.
	Subset string `yaml:"subset,omitempty"`
}

// The actions of policies.
const (
	ActionCompact = "compact"
	ActionMigrate = "migrate"
	ActionCheck   = "check"
)

// The levels of checks.
const (
	LevelManifests = "manifests"
	LevelFooters   = "footers"
	LevelVectors   = "vectors"
)

// The granularities of position delete files.
const (
	GranularityFile      = "file"
	GranularityPartition = "partition"
)

// Window is a part of every day, from Start up to End in the policy's time zone; over midnight when End is not after Start.
type Window struct {
	Start TimeOfDay `yaml:"start"`
	End   TimeOfDay `yaml:"end"`
}

// TimeOfDay is the minutes since midnight, written as 02:30.
type TimeOfDay int

// Triggers say when a table has enough to gain: any of Any, and all of All.
type Triggers struct {
	Any []Trigger `yaml:"any,omitempty"`
	All []Trigger `yaml:"all,omitempty"`
}

// Trigger is one condition on a table: a measure is at least so much.
type Trigger struct {
	// Name is one of [TriggerNames].
	Name string
	// Least is a number of things, or a ratio from 0 to 1.
	Least float64
}

// TriggerNames are the measures that triggers compare, in the order of documentation.
func TriggerNames() []string {
	return []string{"min_delete_files", "max_delete_files_per_data_file", "min_puffin_files", "min_delete_manifests", "deleted_row_ratio", "dead_puffin_ratio"}
}

// Budget bounds a round of a policy. A zero means no bound.
type Budget struct {
	Bytes    Size          `yaml:"bytes,omitempty"`    // read and written
	Duration time.Duration `yaml:"duration,omitempty"` // after which no further table is begun
	Commits  int           `yaml:"commits,omitempty"`
}

// Daemon configures serve.
type Daemon struct {
	// Listen is the address of the HTTP server; the default is loopback.
	Listen string `yaml:"listen"`
	// Pprof is the address, which has to be loopback, of a second HTTP server with the profiles of the program at
	// /debug/pprof/; empty means none.
	Pprof string `yaml:"pprof,omitempty"`
	// State is a location below which the history of runs, pauses and halts are kept: file:///var/lib/dvcompactor or a
	// location of a cloud store. Empty keeps them in memory only.
	State string `yaml:"state,omitempty"`
	// Parallelism is how many tables are worked on at once, and ParallelismPerCatalog how many of one catalog.
	Parallelism           int `yaml:"parallelism"`
	ParallelismPerCatalog int `yaml:"parallelism_per_catalog"`
	// Discovery is how often catalogs are asked for their tables.
	Discovery time.Duration `yaml:"discovery"`
	// Deadline bounds one run on one table.
	Deadline time.Duration `yaml:"deadline"`
	// Failures in a row after which a table is paused.
	Failures int `yaml:"failures"`
	// Grace is how long a run may go on after the daemon was told to stop.
	Grace time.Duration `yaml:"grace"`
	// Token, a secret, has to be sent as a bearer token with every request but those of /-/healthy and /-/ready.
	Token string `yaml:"token,omitempty"`
	// TLS is the certificate of the HTTP server; empty means plain HTTP.
	TLS ServerTLS `yaml:"tls,omitempty"`
	// TableLabel gives metrics a label with the name of the table. It is on unless switched off.
	TableLabel bool `yaml:"table_label"`
	// Webhook is the URL, a secret, that is told of halts, corruption and repeated conflicts; empty means none.
	Webhook string `yaml:"webhook,omitempty"`
}

// ServerTLS names the certificate of a server and its key, in PEM.
type ServerTLS struct {
	CertFile string `yaml:"cert_file,omitempty"`
	KeyFile  string `yaml:"key_file,omitempty"`
}

// DefaultDaemon returns the settings of a daemon of which a file says nothing.
func DefaultDaemon() Daemon {
	return Daemon{
		Listen: "127.0.0.1:9464", Parallelism: 4, ParallelismPerCatalog: 2, Discovery: 5 * time.Minute, Deadline: time.Hour, Failures: 3, Grace: 5 * time.Minute, TableLabel: true,
	}
}
