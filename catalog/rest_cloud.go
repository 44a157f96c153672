package catalog

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/dvcompactor/dvcompactor/internal/storage"
	"gocloud.dev/blob"
)

// vendedSecrets are the names, or with a dot at the end the starts of names, of properties that hold credentials which
// a catalog renews.
func vendedSecrets() []string {
	return []string{s3AccessKey, s3SecretKey, s3Token, "gcs.oauth2.token", "adls.token", "adls.sas-token", "adls.sas-token."}
}

// vendedExpiries are those that say when they end, in milliseconds since 1970.
func vendedExpiries() []string {
	return []string{"s3.session-token-expires-at-ms", "gcs.oauth2.token-expires-at", "adls.sas-token-expires-at-ms."}
}

func isVendedSecret(name string) bool {
	return isOneOf(name, vendedSecrets()) || isOneOf(name, vendedExpiries())
}

// secrets returns the credentials by prefix and name, without when they end.
func (v vended) secrets() map[string]string {
	found := map[string]string{}
	for _, a := range v.access {
		for name, value := range a.Config {
			if isOneOf(name, vendedSecrets()) {
				found[a.Prefix+" "+name] = value
			}
		}
	}
	return found
}

// isOneOf tells whether names has name, or a start of it that ends with a dot.
func isOneOf(name string, names []string) bool {
	return slices.ContainsFunc(names, func(n string) bool { return name == n || strings.HasSuffix(n, ".") && strings.HasPrefix(name, n) })
}

// earliest returns when the first of the credentials ends, zero when nothing says so.
func earliest(access map[string]string) time.Time {
	var first time.Time
	for name, value := range access {
		ms, err := strconv.ParseInt(value, 10, 64)
		if err != nil || ms <= 0 || !isOneOf(name, vendedExpiries()) {
			continue
		}
		if at := time.UnixMilli(ms); first.IsZero() || at.Before(first) {
			first = at
		}
	}
	return first
}

// cloudBucket returns the bucket of a location on Google Cloud Storage or Azure. It is reached with what the operator
// configured and what the catalog hands out; properties in the table's metadata count for nothing. The bucket asks for
// credentials itself, so it stays when they change.
func (f *tableFiles) cloudBucket(ctx context.Context, location string) (*blob.Bucket, error) {
	scheme, _, _ := strings.Cut(location, "://")
	name := scheme + "://" + authority(location)
	if b := f.known(name); b != nil {
		return b, nil
	}
	b, err := storage.OpenCloud(ctx, location, func(ctx context.Context) (map[string]string, error) {
		v, err := f.fresh(ctx)
		if err != nil {
			return nil, err
		}
		told := maps.Clone(f.properties)
		if told == nil {
			told = map[string]string{}
		}
		maps.Copy(told, v.closest(""))
		maps.Copy(told, v.closest(location))
		return told, nil
	})
	if err != nil {
		return nil, fmt.Errorf("file io of %s for %s: %w", f.name, name, err)
	}
	return f.keep(name, b), nil
}

func (f *tableFiles) known(name string) *blob.Bucket {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.opened[name].bucket
}

// keep remembers a bucket until the table's files are closed, unless another caller was quicker.
func (f *tableFiles) keep(name string, b *blob.Bucket) *blob.Bucket {
	f.mu.Lock()
	defer f.mu.Unlock()
	if first := f.opened[name].bucket; first != nil {
		_ = b.Close() // nothing was sent through it
		return first
	}
	f.opened[name] = openedBucket{bucket: b}
	f.connections = append(f.connections, func() { _ = b.Close() })
	return b
}
