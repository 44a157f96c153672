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
	tokens    *tokens // nil when requests are not authorized with tokens
	client    *rest.Catalog

	mu    sync.Mutex
	files map[string]*tableFiles // by table name
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
	c := &restCatalog{options: o, transport: transport, tokens: newTokens(o, transport), files: map[string]*tableFiles{}}
	if err := c.connect(ctx); err != nil {
		transport.CloseIdleConnections()
		return nil, err
	}
	return c, nil
}

// connect makes the client, which asks for the catalog's configuration.
func (c *restCatalog) connect(ctx context.Context) error {
	opts, err := restOptions(c.options)
	if err != nil {
		return fmt.Errorf("catalog %s: %w", c.options.Name, err)
	}
	opts = append(opts, rest.WithCustomTransport(&tracingTransport{next: c.transport, retry: c.options.Retry, signed: c.options.SigV4}))
	if c.tokens != nil {
		opts = append(opts, rest.WithAuthManager(c.tokens))
	}
	x, err := c.read(ctx, func(ctx context.Context) (err error) {
		keepReply(ctx)
		c.client, err = rest.NewCatalog(ctx, c.options.Name, c.options.URI, opts...)
		return err
	})
	if err == nil && c.tokens != nil {
		err = c.tokens.configure(c.options, x.reply.Bytes())
	}
	if err != nil {
		return fmt.Errorf("catalog %s at %s: %w", c.options.Name, storage.RedactURL(c.options.URI), err)
	}
	return nil
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
	if len(o.Headers) > 0 {
		opts = append(opts, rest.WithHeaders(o.Headers))
	}
	if o.OAuth2ServerURI != "" {
		if _, err := url.Parse(o.OAuth2ServerURI); err != nil {
			return nil, fmt.Errorf("oauth2_server_uri: %w", err)
		}
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

// Commits implements [Closer].
func (c *restCatalog) Commits() string { return "the server's, with assert-ref-snapshot-id" }

// Close closes idle connections, also those of stores. Tables that were loaded can still read and write objects, but not
// renew credentials.
func (c *restCatalog) Close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	errs := []error{c.client.Close()}
	for _, f := range c.files {
		errs = append(errs, f.close())
	}
	c.transport.CloseIdleConnections()
	return errors.Join(errs...)
}

// Load asks the catalog for a table. Its objects are found by the configured mounts; what these do not cover is opened
// with the table's own file IO properties and the credentials the catalog vends for it.
func (c *restCatalog) Load(ctx context.Context, identifier []string) (*Table, error) {
	fail := func(err error) (*Table, error) {
		return nil, fmt.Errorf("%s in catalog %s: %w", strings.Join(identifier, "."), c.options.Name, err)
	}
	t, s3, err := c.load(ctx, identifier)
	if notFound(err) || errors.Is(err, ErrNotFound) {
		return fail(ErrNotFound)
	}
	if err != nil {
		return fail(unknownFormat(err))
	}
	store, err := c.store(ctx, identifier, t, s3)
	if err != nil {
		return fail(err)
	}
	out := &Table{Catalog: c.options.Name, Identifier: identifier, Metadata: t.Metadata(), MetadataLocation: t.MetadataLocation()}
	out.Store = store.ForTable(out.Name(), out.MetadataLocation)
	return out, nil
}

// load asks for a table and for the credentials of its files.
func (c *restCatalog) load(ctx context.Context, identifier []string) (t *table.Table, s3 vended, err error) {
	name, err := spell(identifier, c.options.SigV4)
	if err != nil {
		return nil, vended{}, err
	}
	x, err := c.read(name.within(ctx), func(ctx context.Context) (err error) {
		keepReply(ctx)
		t, err = c.client.LoadTable(ctx, name.given)
		return err
	})
	if err != nil {
		return nil, vended{}, err
	}
	s3, err = parseVended(x.reply.Bytes(), t.MetadataLocation())
	return t, s3, err
}

func notFound(err error) bool {
	return errors.Is(err, icebergcatalog.ErrNoSuchTable) || errors.Is(err, icebergcatalog.ErrNoSuchNamespace)
}
