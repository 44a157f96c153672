// Package healthcheck asks a daemon whether it is healthy, for containers that have no other program to do so.
package healthcheck

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/dvcompactor/dvcompactor/internal/cli/exit"
)

// Options of a question.
type Options struct {
	// URL is where the daemon listens: http://127.0.0.1:9464. What is asked is its path /-/healthy.
	URL     string
	Timeout time.Duration // for the whole answer
}

// Run asks. The error has the code of a usage error when the URL is none, and else says what came instead of a 200.
func Run(ctx context.Context, o Options) error {
	base, err := url.Parse(o.URL)
	if err != nil || base.Host == "" || base.Scheme != "http" && base.Scheme != "https" {
		return exit.Usagef("--url %q is no address of a daemon; it has to be like http://127.0.0.1:9464", o.URL)
	}
	ctx, cancel := context.WithTimeout(ctx, o.Timeout)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, base.JoinPath("-", "healthy").String(), nil)
	if err != nil {
		return exit.With(exit.Usage, err)
	}
	client := client()
	defer client.CloseIdleConnections()
	reply, err := client.Do(r)
	if err != nil {
		return fmt.Errorf("the daemon does not answer: %w", err)
	}
	defer reply.Body.Close()
	if reply.StatusCode != http.StatusOK {
		const enough = 200
		text, _ := io.ReadAll(io.LimitReader(reply.Body, enough)) // the status says it all
		return fmt.Errorf("the daemon is not well: %s: %s", reply.Status, strings.TrimSpace(string(text)))
	}
	return nil
}

// client does not look at certificates: the daemon is asked by loopback, for which it has none, and nothing secret is sent.
// Nor does it use a proxy, or follow to other places.
func client() *http.Client {
	return &http.Client{
		Transport:     &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}
