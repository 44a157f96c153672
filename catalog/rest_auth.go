package catalog

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"reflect"
	"strings"
	"sync"

	"github.com/apache/iceberg-go/catalog/rest"
	"golang.org/x/oauth2"
	"golang.org/x/oauth2/clientcredentials"
)

// Properties that say how to get a token. A catalog may announce them with its configuration.
const (
	propertyTokenURL    = "oauth2-server-uri"
	propertyOldTokenURL = "rest.authorization-url"
	propertyScope       = "scope"
	propertyAudience    = "audience"
	propertyResource    = "resource"
)

// tokens gets OAuth2 tokens for client credentials and keeps them until they expire. It implements
// rest.ContextAuthManager in place of iceberg-go's, which asks for tokens without a context: there a token endpoint that
// does not answer holds up every request for a minute, whatever their contexts say.
type tokens struct {
	client *http.Client
	turn   chan struct{} // holds one element while a token is looked for

	mu     sync.Mutex
	config *clientcredentials.Config // nil for a token that does not change
	token  *oauth2.Token             // nil for none
}

// newTokens returns nil when there is nothing to authorize with.
func newTokens(o Options, transport http.RoundTripper) *tokens {
	client := &http.Client{Transport: &headersTransport{next: transport, headers: o.Headers}}
	t := &tokens{client: client, turn: make(chan struct{}, 1)}
	switch {
	case o.Token != "":
		t.token = &oauth2.Token{AccessToken: o.Token}
	case o.Credential != "":
		t.config = oauthConfig(o, nil, nil)
	default:
		return nil
	}
	return t
}

// oauthConfig says how to get a token: what the catalog overrides counts most, then what is configured here, then the
// catalog's defaults.
func oauthConfig(o Options, defaults, overrides map[string]string) *clientcredentials.Config {
	base := cmp.Or(overrides["uri"], o.Properties["uri"], defaults["uri"], o.URI)
	p := map[string]string{propertyScope: "catalog", propertyTokenURL: strings.TrimSuffix(base, "/") + "/v1/oauth/tokens"}
	ours := maps.Clone(o.Properties)
	if ours == nil {
		ours = map[string]string{}
	}
	for key, value := range map[string]string{propertyScope: o.Scope, propertyTokenURL: o.OAuth2ServerURI} {
		if value != "" {
			ours[key] = value
		}
	}
	for _, layer := range []map[string]string{defaults, ours, overrides} {
		if value, ok := layer[propertyOldTokenURL]; ok {
			p[propertyTokenURL] = value
		}
		maps.Copy(p, layer)
	}
	c := &clientcredentials.Config{TokenURL: p[propertyTokenURL], AuthStyle: oauth2.AuthStyleInParams, Scopes: []string{p[propertyScope]}, EndpointParams: url.Values{}}
	var found bool
	if c.ClientID, c.ClientSecret, found = strings.Cut(o.Credential, ":"); !found {
		c.ClientID, c.ClientSecret = "", o.Credential
	}
	for _, key := range []string{propertyAudience, propertyResource} {
		if p[key] != "" {
			c.EndpointParams.Set(key, p[key])
		}
	}
	return c
}

// configure takes note of what the catalog's configuration says about tokens. One that came from somewhere else is
// forgotten.
func (t *tokens) configure(o Options, reply []byte) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.config == nil {
		return nil
	}
	var told struct{ Defaults, Overrides map[string]string }
	if err := json.Unmarshal(reply, &told); err != nil {
		return fmt.Errorf("the catalog's configuration: %w", err)
	}
	next := oauthConfig(o, told.Defaults, told.Overrides)
	if !reflect.DeepEqual(next, t.config) {
		t.config, t.token = next, nil
	}
	return nil
}

// AuthHeader implements rest.AuthManager.
func (t *tokens) AuthHeader() (string, string, error) {
	return t.AuthHeaderWithContext(context.Background())
}

// AuthHeaderWithContext implements rest.ContextAuthManager. One caller asks for a token, the others wait for it.
func (t *tokens) AuthHeaderWithContext(ctx context.Context) (string, string, error) {
	select {
	case t.turn <- struct{}{}:
		defer func() { <-t.turn }()
	case <-ctx.Done():
		return "", "", fmt.Errorf("waiting for a token: %w", ctx.Err())
	}
	token, config := t.current()
	if token.Valid() || config == nil {
		return "Authorization", token.Type() + " " + token.AccessToken, nil
	}
	token, err := config.Token(context.WithValue(withoutExchange(ctx), oauth2.HTTPClient, t.client))
	if err != nil {
		return "", "", tokenError(err)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.token = token
	return "Authorization", token.Type() + " " + token.AccessToken, nil
}

func (t *tokens) current() (*oauth2.Token, *clientcredentials.Config) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.token, t.config
}

// renew forgets a token that the catalog no longer takes, unless it was replaced since. It tells whether another one
// can be had.
func (t *tokens) renew(refused any) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.config == nil {
		return false
	}
	if t.token != nil && t.token.Type()+" "+t.token.AccessToken == refused {
		t.token = nil
	}
	return true
}

// tokenError marks a refusal of the token endpoint. Any other failure may pass. What it answered is not told whole,
// because it may repeat the secret.
func tokenError(err error) error {
	var refusal *oauth2.RetrieveError
	if !errors.As(err, &refusal) {
		return fmt.Errorf("asking for a token: %w", err)
	}
	text := strings.TrimSpace(refusal.ErrorCode + " " + refusal.ErrorDescription)
	code := 0
	if refusal.Response != nil {
		code = refusal.Response.StatusCode
	}
	if code >= 500 || code == http.StatusTooManyRequests || code == http.StatusRequestTimeout {
		return fmt.Errorf("asking for a token: status %d %s", code, text)
	}
	return fmt.Errorf("%w: status %d %s", rest.ErrOAuthError, code, text)
}

// headersTransport adds the configured headers to requests for tokens, as every other request has them.
type headersTransport struct {
	next    http.RoundTripper
	headers map[string]string
}

// RoundTrip implements http.RoundTripper.
func (t *headersTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	out := r.Clone(r.Context())
	for key, value := range t.headers {
		if out.Header.Get(key) == "" {
			out.Header.Set(key, value)
		}
	}
	return t.next.RoundTrip(out)
}
