package catalog

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"sync/atomic"
	"time"

	"github.com/apache/iceberg-go/catalog/rest"
	"github.com/dvcompactor/dvcompactor/internal/storage"
)

// read is call for what has no effect: it is repeated when it fails in a way that may pass.
func (c *restCatalog) read(ctx context.Context, do func(context.Context) error) (x *exchange, err error) {
	err = c.options.Retry.Repeat(ctx, func(int) (err error) {
		x, err = c.call(ctx, do)
		return err
	}, func(err error) (bool, time.Duration) { return x.passes(err), x.asked() })
	return x, err
}

// call lets do talk to the catalog, within the time limit, and says how the exchange went. A token that the catalog no
// longer takes, although it has not expired by its own account, is replaced once: such a request did nothing.
func (c *restCatalog) call(ctx context.Context, do func(context.Context) error) (*exchange, error) {
	x, err := c.attempt(ctx, do)
	if !x.unauthorized() || c.tokens == nil || !c.tokens.renew(x.authorization.Load()) {
		return x, err
	}
	return c.attempt(ctx, do)
}

func (c *restCatalog) attempt(ctx context.Context, do func(context.Context) error) (*exchange, error) {
	ctx, cancel := context.WithTimeout(ctx, c.options.Timeout)
	defer cancel()
	x := &exchange{}
	return x, do(context.WithValue(ctx, exchangeKey{}, x))
}

// exchange is what is known of a request beyond its error: iceberg-go's errors do not tell a refusal from a reply that
// never came, nor whether anything was sent at all.
type exchange struct {
	status        atomic.Int32  // HTTP status of the last reply, 0 when none came
	sent          atomic.Bool   // there was a connection, so something may have been sent
	cut           atomic.Bool   // the reply broke off
	pause         atomic.Int64  // for how long the last reply asked not to be called again, in nanoseconds
	authorization atomic.Value  // a string, the header that was sent last
	reply         *bytes.Buffer // the body of the last reply, if it is to be kept
}

func (x *exchange) unauthorized() bool {
	const authenticationTimeout = 419 // of the REST catalog spec
	s := x.status.Load()
	return s == http.StatusUnauthorized || s == authenticationTimeout
}

func (x *exchange) asked() time.Duration { return time.Duration(x.pause.Load()) }

// passes says whether a request that failed may succeed later. One that took all the time it had is not repeated.
func (x *exchange) passes(err error) bool {
	switch code := x.status.Load(); {
	case code == 0:
		return unreachable(err)
	case code == http.StatusTooManyRequests, code >= 500 && code != http.StatusNotImplemented:
		return true
	}
	return x.cut.Load()
}

// unreachable says that a request failed without an answer, and not because of anything that stays as it is.
func unreachable(err error) bool {
	var network *url.Error
	var certificate *tls.CertificateVerificationError
	late := errors.As(err, &network) && network.Timeout() || errors.Is(err, context.DeadlineExceeded)
	return network != nil && !late && !errors.As(err, &certificate) && !errors.Is(err, rest.ErrOAuthError)
}

type exchangeKey struct{}

func exchangeOf(ctx context.Context) *exchange {
	x, _ := ctx.Value(exchangeKey{}).(*exchange)
	return x
}

// withoutExchange is for a request that another one needs, as for a token: nothing is noted about it.
func withoutExchange(ctx context.Context) context.Context {
	return context.WithValue(ctx, exchangeKey{}, (*exchange)(nil))
}

// keepReply asks for the body of the reply, to find in it what iceberg-go does not tell.
func keepReply(ctx context.Context) { exchangeOf(ctx).reply = &bytes.Buffer{} }

// tracingTransport fills in the exchange of a request whose context has one.
type tracingTransport struct {
	next   http.RoundTripper
	retry  storage.RetryOptions
	signed bool // requests must stay as they are
}

// RoundTrip implements http.RoundTripper.
func (t *tracingTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	x := exchangeOf(r.Context())
	if x == nil {
		return t.next.RoundTrip(r)
	}
	x.status.Store(0)
	x.pause.Store(0)
	x.authorization.Store(r.Header.Get("Authorization"))
	trace := &httptrace.ClientTrace{GotConn: func(httptrace.GotConnInfo) { x.sent.Store(true) }}
	out := r.WithContext(httptrace.WithClientTrace(r.Context(), trace))
	if !t.signed {
		if err := correct(out); err != nil {
			return nil, err
		}
	}
	resp, err := t.next.RoundTrip(out)
	if err != nil {
		return nil, err
	}
	x.status.Store(int32(resp.StatusCode))
	x.pause.Store(int64(t.retry.Asked(resp.StatusCode, resp.Header, time.Now())))
	if x.reply != nil {
		x.reply.Reset()
	}
	resp.Body = &watchedBody{ReadCloser: resp.Body, exchange: x, ctx: r.Context()}
	return resp, nil
}

// watchedBody notes that a reply broke off, and its bytes if they are to be kept.
type watchedBody struct {
	io.ReadCloser
	exchange *exchange
	ctx      context.Context // of the request
}

// Read implements io.Reader.
func (b *watchedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if b.exchange.reply != nil {
		b.exchange.reply.Write(p[:n])
	}
	if err != nil && !errors.Is(err, io.EOF) && b.ctx.Err() == nil {
		b.exchange.cut.Store(true)
	}
	return n, err
}
