package catalog

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"time"

	"github.com/apache/iceberg-go"
	icebergcatalog "github.com/apache/iceberg-go/catalog"
	"github.com/apache/iceberg-go/catalog/rest"
	"github.com/apache/iceberg-go/io/gocloud/blobfs"
	"github.com/apache/iceberg-go/table"
	"github.com/dvcompactor/dvcompactor/internal/storage"
	"gocloud.dev/blob"

	_ "github.com/apache/iceberg-go/io/gocloud/s3" // file IO for s3 locations that the catalog vends credentials for
)

// requestTimeout bounds one call to a REST catalog, so that a dead connection becomes an unknown outcome and not a hang.
const requestTimeout = 2 * time.Minute

type restCatalog struct {
	options Options
	client  *rest.Catalog
}

func openREST(ctx context.Context, o Options) (Closer, error) {
	opts, err := restOptions(o)
	if err != nil {
		return nil, fmt.Errorf("catalog %s: %w", o.Name, err)
	}
	c, err := rest.NewCatalog(ctx, o.Name, o.URI, opts...)
	if err != nil {
		return nil, fmt.Errorf("catalog %s at %s: %w", o.Name, o.URI, err)
	}
	return &restCatalog{options: o, client: c}, nil
}

func restOptions(o Options) ([]rest.Option, error) {
	config, err := tlsConfig(o.TLS)
	if err != nil {
		return nil, err
	}
	base := http.DefaultTransport.(*http.Transport).Clone()
	base.TLSClientConfig = config
	opts := []rest.Option{rest.WithCustomTransport(&statusTransport{next: base}), rest.WithAdditionalProps(iceberg.Properties(o.Properties))}
	if o.Warehouse != "" {
		opts = append(opts, rest.WithWarehouseLocation(o.Warehouse))
	}
	if o.Credential != "" {
		opts = append(opts, rest.WithCredential(o.Credential))
	}
	if o.Token != "" {
		opts = append(opts, rest.WithOAuthToken(o.Token))
	}
	if o.Scope != "" {
		opts = append(opts, rest.WithScope(o.Scope))
	}
	if len(o.Headers) > 0 {
		opts = append(opts, rest.WithHeaders(o.Headers))
	}
	if o.OAuth2ServerURI != "" {
		u, err := url.Parse(o.OAuth2ServerURI)
		if err != nil {
			return nil, fmt.Errorf("oauth2_server_uri: %w", err)
		}
		opts = append(opts, rest.WithAuthURI(u))
	}
	if o.SigV4 {
		opts = append(opts, rest.WithSigV4RegionSvc(o.SigV4Region, o.SigV4Name))
	}
	return opts, nil
}

func tlsConfig(o TLSOptions) (*tls.Config, error) {
	c := &tls.Config{MinVersion: tls.VersionTLS12, InsecureSkipVerify: o.InsecureSkipVerify}
	if o.CAFile != "" {
		pem, err := os.ReadFile(o.CAFile)
		if err != nil {
			return nil, fmt.Errorf("tls.ca_file: %w", err)
		}
		c.RootCAs = x509.NewCertPool()
		if !c.RootCAs.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("tls.ca_file %s: no certificate in it", o.CAFile)
		}
	}
	if o.CertFile != "" {
		pair, err := tls.LoadX509KeyPair(o.CertFile, o.KeyFile)
		if err != nil {
			return nil, fmt.Errorf("tls.cert_file: %w", err)
		}
		c.Certificates = []tls.Certificate{pair}
	}
	return c, nil
}

// Close does nothing: connections are idle HTTP connections.
func (c *restCatalog) Close() error { return nil }

// Load asks the catalog for a table. Its objects are found by the configured mounts; what these do not cover is opened
// with the table's own file IO properties and the credentials the catalog vends for it.
func (c *restCatalog) Load(ctx context.Context, identifier []string) (*Table, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	t, err := c.client.LoadTable(ctx, identifier)
	if errors.Is(err, icebergcatalog.ErrNoSuchTable) || errors.Is(err, icebergcatalog.ErrNoSuchNamespace) {
		return nil, fmt.Errorf("%v in catalog %s: %w", identifier, c.options.Name, ErrNotFound)
	}
	if err != nil {
		return nil, fmt.Errorf("%v in catalog %s: %w", identifier, c.options.Name, err)
	}
	store, err := storage.Open(ctx, storage.Options{
		Mounts: c.options.Mounts, Properties: c.options.Properties,
		Fallback: func(_ context.Context, location string) (*blob.Bucket, error) { return tableBucket(t, location) },
	})
	if err != nil {
		return nil, err
	}
	return &Table{Catalog: c.options.Name, Identifier: identifier, Metadata: t.Metadata(), MetadataLocation: t.MetadataLocation(), Store: store}, nil
}

// tableBucket opens the table's own file IO. The context is a fresh one because iceberg-go keeps it for later reads
// and for the refresh of vended credentials.
func tableBucket(t *table.Table, location string) (*blob.Bucket, error) {
	fs, err := t.FS(context.Background())
	if err != nil {
		return nil, fmt.Errorf("file io of %v for %s: %w", t.Identifier(), location, err)
	}
	b, ok := fs.(*blobfs.FileIO)
	if !ok {
		return nil, fmt.Errorf("file io of %v for %s is a %T: map the location under storage: in the configuration", t.Identifier(), location, fs)
	}
	return b.Bucket, nil
}

// Commit posts the requirements and updates.
func (c *restCatalog) Commit(ctx context.Context, t *Table, requirements []table.Requirement, updates []table.Update) error {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	status := &lastStatus{}
	_, _, err := c.client.CommitTable(context.WithValue(ctx, statusKey{}, status), t.Identifier, requirements, updates)
	if err == nil {
		return nil
	}
	return &CommitError{Outcome: restOutcome(status.code, err), Table: t.Name(), Err: err}
}

// restOutcome classifies a failed commit by the HTTP status of its last reply; 0 means that none came.
func restOutcome(code int, err error) error {
	switch {
	case code == http.StatusConflict:
		return ErrConflict
	case code == http.StatusTooManyRequests:
		return ErrConflict // nothing was tried: safe to try again
	case code >= 400 && code < 500 && code != http.StatusRequestTimeout:
		return ErrRefused
	case errors.Is(err, rest.ErrOAuthError), errors.Is(err, rest.ErrEndpointNotSupported):
		return ErrRefused
	}
	return ErrUnknown
}

// List walks the namespaces.
func (c *restCatalog) List(ctx context.Context, namespace []string) ([][]string, error) {
	var out [][]string
	if len(namespace) > 0 {
		for id, err := range c.client.ListTables(ctx, namespace) {
			if err != nil {
				return nil, fmt.Errorf("listing %v in catalog %s: %w", namespace, c.options.Name, err)
			}
			out = append(out, id)
		}
	}
	children, err := c.client.ListNamespaces(ctx, namespace)
	if err != nil {
		return nil, fmt.Errorf("namespaces below %v in catalog %s: %w", namespace, c.options.Name, err)
	}
	for _, child := range children {
		tables, err := c.List(ctx, child)
		if err != nil {
			return nil, err
		}
		out = append(out, tables...)
	}
	return out, nil
}

type statusKey struct{}

type lastStatus struct{ code int }

// statusTransport notes the HTTP status of the reply to a request whose context asks for it: iceberg-go's errors do
// not tell a refusal from a reply that never came.
type statusTransport struct{ next http.RoundTripper }

func (t *statusTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := t.next.RoundTrip(r)
	if s, ok := r.Context().Value(statusKey{}).(*lastStatus); ok {
		s.code = 0
		if err == nil {
			s.code = resp.StatusCode
		}
	}
	return resp, err
}
