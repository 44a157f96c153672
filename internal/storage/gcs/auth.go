package gcs

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"sync"

	"golang.org/x/oauth2"
	"golang.org/x/oauth2/google"

	"github.com/dvcompactor/dvcompactor/internal/storage/cloud"
)

const scope = "https://www.googleapis.com/auth/devstorage.read_write"

// authorizer puts a token on every request.
type authorizer struct {
	base       http.RoundTripper
	properties cloud.Properties

	mu     sync.Mutex
	key    string // what source was made of
	source oauth2.TokenSource
}

func newAuthorizer(base http.RoundTripper, properties cloud.Properties) *authorizer {
	return &authorizer{base: base, properties: properties}
}

// RoundTrip implements http.RoundTripper.
func (a *authorizer) RoundTrip(r *http.Request) (*http.Response, error) {
	token, err := a.token(r.Context())
	if err != nil {
		if r.Body != nil {
			_ = r.Body.Close() // as the interface asks for
		}
		return nil, err
	}
	if token != "" {
		r = r.Clone(r.Context())
		r.Header.Set("Authorization", "Bearer "+token)
	}
	return a.base.RoundTrip(r)
}

// token returns the access token for a request now, "" for none.
func (a *authorizer) token(ctx context.Context) (string, error) {
	told, err := a.properties(ctx)
	if err != nil {
		return "", &cloud.Error{Kind: cloud.Denied, Err: err}
	}
	switch {
	case cloud.IsTrue(told[noAuth]):
		return "", nil
	case told[oauthToken] != "":
		return told[oauthToken], nil
	}
	source, err := a.sourceOf(told)
	if err != nil || source == nil {
		return "", err
	}
	t, err := source.Token()
	if err != nil {
		return "", refusedToken(err)
	}
	return t.AccessToken, nil
}

// sourceOf returns what makes tokens of a key or of the environment, nil for no credentials. It is made once.
func (a *authorizer) sourceOf(told map[string]string) (oauth2.TokenSource, error) {
	key := cmp.Or(told[jsonKey], told[keyPath], "default")
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.key == key {
		return a.source, nil
	}
	source, err := a.makeSource(told)
	if err != nil {
		return nil, &cloud.Error{Kind: cloud.Denied, Err: err}
	}
	a.key, a.source = key, source
	return source, nil
}

func (a *authorizer) makeSource(told map[string]string) (oauth2.TokenSource, error) {
	// The source outlives the request that it is made for.
	ctx := context.WithValue(context.Background(), oauth2.HTTPClient, &http.Client{Transport: a.base})
	switch {
	case told[jsonKey] != "":
		return fromKey(ctx, []byte(told[jsonKey]), jsonKey, told[credType])
	case told[keyPath] != "":
		data, err := os.ReadFile(told[keyPath])
		if err != nil {
			return nil, fmt.Errorf("%s: %w", keyPath, err)
		}
		return fromKey(ctx, data, keyPath, told[credType])
	case os.Getenv(emulator) != "":
		return nil, nil
	}
	found, err := google.FindDefaultCredentials(ctx, scope)
	if err != nil {
		return nil, fmt.Errorf("no credentials for Google Cloud Storage: set GOOGLE_APPLICATION_CREDENTIALS, or %s=true for a public bucket: %w", noAuth, err)
	}
	return found.TokenSource, nil
}

// fromKey makes tokens of a key. What comes with a table is a service account's key unless the table says otherwise, as
// other kinds of keys name programs to run and addresses to ask.
func fromKey(ctx context.Context, data []byte, property, kind string) (oauth2.TokenSource, error) {
	found, err := google.CredentialsFromJSONWithType(ctx, data, google.CredentialsType(cmp.Or(kind, string(google.ServiceAccount))), scope)
	if err != nil {
		return nil, fmt.Errorf("%s is no such key (for another kind than a service account set %s): %w", property, credType, err)
	}
	return found.TokenSource, nil
}

// refusedToken says what the failure to get a token means.
func refusedToken(err error) error {
	var refused *oauth2.RetrieveError
	if errors.As(err, &refused) && refused.Response != nil {
		kind := cloud.Denied
		if cloud.ByStatus(refused.Response.StatusCode) == cloud.Busy {
			kind = cloud.Busy
		}
		return &cloud.Error{Kind: kind, Err: err}
	}
	return err
}
