package catalog

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptrace"
	"sync/atomic"

	"github.com/apache/iceberg-go/catalog/rest"
)

// call lets do talk to the catalog, within the time limit, and says how the exchange went. A token that the catalog no
// longer takes, although it has not expired by its own account, is replaced once: such a request did nothing.
func (c *restCatalog) call(ctx context.Context, do func(context.Context, *rest.Catalog) error) (*exchange, error) {
	client := c.current()
	x, err := c.attempt(ctx, client, do)
	if !x.unauthorized() || c.options.Credential == "" {
		return x, err
	}
	renewed, renewErr := c.renew(ctx, client)
	if renewErr != nil {
		return x, errors.Join(err, renewErr)
	}
	return c.attempt(ctx, renewed, do)
}

func (c *restCatalog) attempt(ctx context.Context, client *rest.Catalog, do func(context.Context, *rest.Catalog) error) (*exchange, error) {
	ctx, cancel := context.WithTimeout(ctx, c.options.Timeout)
	defer cancel()
	x := &exchange{}
	return x, do(context.WithValue(ctx, exchangeKey{}, x), client)
}

func (c *restCatalog) current() *rest.Catalog {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.client
}

// renew connects anew unless somebody else has done so since old was in use.
func (c *restCatalog) renew(ctx context.Context, old *rest.Catalog) (*rest.Catalog, error) {
	c.renewing.Lock()
	defer c.renewing.Unlock()
	if now := c.current(); now != old {
		return now, nil
	}
	client, err := c.connect(ctx)
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.client = client
	return client, nil
}

// exchange is what is known of a request beyond its error: iceberg-go's errors do not tell a refusal from a reply that
// never came, nor whether anything was sent at all.
type exchange struct {
	status atomic.Int32 // HTTP status of the last reply, 0 when none came
	sent   atomic.Bool  // there was a connection, so something may have been sent
}

func (x *exchange) unauthorized() bool {
	const authenticationTimeout = 419 // of the REST catalog spec
	s := x.status.Load()
	return s == http.StatusUnauthorized || s == authenticationTimeout
}

type exchangeKey struct{}

// tracingTransport fills in the exchange of a request whose context has one.
type tracingTransport struct{ next http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (t *tracingTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	x, ok := r.Context().Value(exchangeKey{}).(*exchange)
	if !ok {
		return t.next.RoundTrip(r)
	}
	x.status.Store(0)
	trace := &httptrace.ClientTrace{GotConn: func(httptrace.GotConnInfo) { x.sent.Store(true) }}
	resp, err := t.next.RoundTrip(r.WithContext(httptrace.WithClientTrace(r.Context(), trace)))
	if err == nil {
		x.status.Store(int32(resp.StatusCode))
	}
	return resp, err
}
