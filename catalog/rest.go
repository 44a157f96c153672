package catalog

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/apache/iceberg-go"
	icebergcatalog "github.com/apache/iceberg-go/catalog"
	"github.com/apache/iceberg-go/catalog/rest"
	"github.com/apache/iceberg-go/table"
	"github.com/dvcompactor/dvcompactor/internal/storage"

	_ "github.com/apache/iceberg-go/io/gocloud/s3" // file IO for s3 locations that the catalog vends credentials for
)

// defaultTimeout bounds one call to a REST catalog, so that a dead connection becomes an unknown outcome and not a hang.
const defaultTimeout = 2 * time.Minute

type restCatalog struct {
	options   Options
	transport *http.Transport

	renewing sync.Mutex // held while a client connects anew
	mu       sync.Mutex
	client   *rest.Catalog
	files    map[string]*tableFiles // by table name
}

func openREST(ctx context.Context, o Options) (Closer, error) {
	config, err := tlsConfig(o.TLS)
	if err != nil {
		return nil, fmt.Errorf("catalog %s: %w", o.Name, err)
	}
	o.Timeout = cmp.Or(o.Timeout, defaultTimeout)
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.TLSClientConfig = config
	transport.ResponseHeaderTimeout = o.Timeout
	c := &restCatalog{options: o, transport: transport, files: map[string]*tableFiles{}}
	if c.client, err = c.connect(ctx); err != nil {
		transport.CloseIdleConnections()
		return nil, err
	}
	return c, nil
}

// connect makes a client: it asks for a token, if there is a credential, and for the catalog's configuration.
func (c *restCatalog) connect(ctx context.Context) (*rest.Catalog, error) {
	opts, err := restOptions(c.options)
	if err != nil {
		return nil, fmt.Errorf("catalog %s: %w", c.options.Name, err)
	}
	opts = append(opts, rest.WithCustomTransport(&tracingTransport{next: c.transport}))
	ctx, cancel := context.WithTimeout(ctx, c.options.Timeout)
	defer cancel()
	client, err := rest.NewCatalog(ctx, c.options.Name, c.options.URI, opts...)
	if err != nil {
		return nil, fmt.Errorf("catalog %s at %s: %w", c.options.Name, storage.RedactURL(c.options.URI), err)
	}
	return client, nil
}

func restOptions(o Options) ([]rest.Option, error) {
	// All snapshots are asked for, not only those that refs point to: our own snapshot must be found after a lost reply
	// even when another writer has committed on top of it.
	props := iceberg.Properties{}
	maps.Copy(props, o.Properties)
	props["snapshot-loading-mode"] = "all"
	opts := []rest.Option{rest.WithAdditionalProps(props)}
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

// Close closes idle connections. Tables that were loaded can still read and write objects, but not renew credentials.
func (c *restCatalog) Close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	errs := []error{c.client.Close()}
	for _, f := range c.files {
		errs = append(errs, f.store.Close())
	}
	c.transport.CloseIdleConnections()
	return errors.Join(errs...)
}

// Load asks the catalog for a table. Its objects are found by the configured mounts; what these do not cover is opened
// with the table's own file IO properties and the credentials the catalog vends for it.
func (c *restCatalog) Load(ctx context.Context, identifier []string) (*Table, error) {
	var t *table.Table
	_, err := c.call(ctx, func(ctx context.Context, client *rest.Catalog) (err error) {
		t, err = client.LoadTable(ctx, identifier)
		return err
	})
	if notFound(err) {
		return nil, fmt.Errorf("%s in catalog %s: %w", strings.Join(identifier, "."), c.options.Name, ErrNotFound)
	}
	if err != nil {
		return nil, fmt.Errorf("%s in catalog %s: %w", strings.Join(identifier, "."), c.options.Name, unknownFormat(err))
	}
	store, err := c.store(ctx, t)
	if err != nil {
		return nil, fmt.Errorf("%s in catalog %s: %w", strings.Join(identifier, "."), c.options.Name, err)
	}
	return &Table{Catalog: c.options.Name, Identifier: identifier, Metadata: t.Metadata(), MetadataLocation: t.MetadataLocation(), Store: store}, nil
}

func notFound(err error) bool {
	return errors.Is(err, icebergcatalog.ErrNoSuchTable) || errors.Is(err, icebergcatalog.ErrNoSuchNamespace)
}
