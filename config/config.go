package config

import (
	"maps"
	"runtime"
	"slices"
	"time"
)

// Version is the only version of the file format.
const Version = 1

// Config is a whole configuration, with defaults filled in.
type Config struct {
	// Version is the version of the file format, always [Version].
	Version int `yaml:"version"`
	// Catalogs by their names, which start the names of their tables.
	Catalogs map[string]Catalog `yaml:"catalogs"`
	// Storage says where location prefixes really are.
	Storage []Mount `yaml:"storage,omitempty"`
	// Defaults hold for every run that does not say otherwise.
	Defaults Defaults `yaml:"defaults"`
	// Policies say what the daemon does with which tables.
	Policies []Policy `yaml:"policies,omitempty"`
	// Daemon configures serve.
	Daemon Daemon `yaml:"daemon"`
}

// CatalogNames returns the names of the catalogs, sorted.
func (c *Config) CatalogNames() []string { return slices.Sorted(maps.Keys(c.Catalogs)) }

// The catalog types of this build.
const (
	TypeREST = "rest"
	TypeSQL  = "sql"
	TypeGlue = "glue"
	TypeHive = "hive"
)

// Catalog says how to reach one catalog.
type Catalog struct {
	// Name is the key of the catalog in the file. A SQL catalog is known by it in its database too.
	Name string `yaml:"-"`
	// Type is TypeREST, TypeSQL, TypeGlue or TypeHive.
	Type string `yaml:"type"`
	// URI is https://... for REST, sqlite:///ABSOLUTE/PATH, postgres://... or mysql://... for SQL. It may hold a password.
	// For Glue it is an endpoint, or empty for that of the region; for Hive thrift://host:9083, several with commas between.
	URI string `yaml:"uri,omitempty"`
	// Warehouse is what the catalog calls its warehouse; for SQL the location of new tables.
	Warehouse string `yaml:"warehouse,omitempty"`
	// Credential is a secret, "id:secret" or "secret", for the OAuth2 client credentials flow. REST only.
	Credential string `yaml:"credential,omitempty"`
	// Token is a secret bearer token. REST only.
	Token string `yaml:"token,omitempty"`
	// Scope is the OAuth2 scope to ask for. REST only.
	Scope string `yaml:"scope,omitempty"`
	// OAuth2ServerURI is where tokens come from when it is not the catalog. REST only.
	OAuth2ServerURI string `yaml:"oauth2_server_uri,omitempty"`
	// SigV4 makes requests be signed with AWS credentials when it is not nil. REST only.
	SigV4 *SigV4 `yaml:"sigv4,omitempty"`
	// Headers are added to every request; their values may be secrets. REST only.
	Headers map[string]string `yaml:"headers,omitempty"`
	// TLS configures connections to a REST catalog.
	TLS TLS `yaml:"tls,omitempty"`
	// Properties are passed on to the catalog and to the file access of its tables; some are secrets.
	Properties map[string]string `yaml:"properties,omitempty"`
}

// SigV4 configures request signing.
type SigV4 struct {
	// Region is the AWS region; empty means that of the environment.
	Region string `yaml:"region,omitempty"`
	// Name is the signing name of the service; empty means that of the catalog client ("execute-api").
	Name string `yaml:"name,omitempty"`
}

// TLS names certificate files.
type TLS struct {
	// CAFile holds certificates to trust instead of those of the system, in PEM.
	CAFile string `yaml:"ca_file,omitempty"`
	// CertFile and KeyFile hold a client certificate and its key, in PEM.
	CertFile string `yaml:"cert_file,omitempty"`
	KeyFile  string `yaml:"key_file,omitempty"`
	// InsecureSkipVerify accepts any certificate.
	InsecureSkipVerify bool `yaml:"insecure_skip_verify,omitempty"`
}

// Mount says where the locations with a prefix really are.
type Mount struct {
	// Prefix is the start of the locations; the rest of a location is the key.
	Prefix string `yaml:"prefix"`
	// URL is a gocloud URL: file:///dir, mem:// or s3://bucket?parameters. Some parameters are secrets.
	URL string `yaml:"url"`
}

// Defaults hold for every run that does not say otherwise.
type Defaults struct {
	// Memory bounds what merging keeps in memory.
	Memory Size `yaml:"memory"`
	// Parallelism is how many things are done at once; the default is the number of CPUs.
	Parallelism int `yaml:"parallelism"`
	// TargetPuffinSize is the size of a Puffin file to aim for.
	TargetPuffinSize Size `yaml:"target_puffin_size"`
	// CoolDown keeps runs off data files whose deletes changed within this time; 0 means off.
	CoolDown time.Duration `yaml:"cool_down"`
	// Retries bounds the repetition of what failed.
	Retries Retries `yaml:"retries"`
}

// Retries bounds the repetition of what failed.
type Retries struct {
	// RequestAttempts is how often a request to a store, or one to load or to list, is sent before it is given up.
	RequestAttempts int `yaml:"request_attempts"`
	// CommitAttempts is how often a commit is tried when others commit at the same time.
	CommitAttempts int `yaml:"commit_attempts"`
	// BaseDelay is the longest first pause; each following one may be twice as long.
	BaseDelay time.Duration `yaml:"base_delay"`
	// MaxDelay bounds every pause.
	MaxDelay time.Duration `yaml:"max_delay"`
}

// DefaultDefaults returns the defaults of a file that says nothing about them.
func DefaultDefaults() Defaults {
	return Defaults{
		Memory:           512 * MiB,
		Parallelism:      runtime.GOMAXPROCS(0),
		TargetPuffinSize: 64 * MiB,
		Retries: Retries{
			RequestAttempts: 4,
			CommitAttempts:  10,
			BaseDelay:       100 * time.Millisecond,
			MaxDelay:        5 * time.Second,
		},
	}
}
