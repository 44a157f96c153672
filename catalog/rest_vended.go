package catalog

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/dvcompactor/dvcompactor/internal/storage"
)

// Properties of S3 access that a catalog hands out with a table.
const (
	s3AccessKey = "s3.access-key-id"
	s3SecretKey = "s3.secret-access-key"
	s3Token     = "s3.session-token"
)

// vended is what a catalog hands out with a table for the access to its files.
type vended struct {
	keys     aws.Credentials // without a key when the catalog hands out none
	expires  time.Time       // zero when the catalog does not say
	settings map[string]string
	access   []vendedAccess // the table's config first
}

// vendedAccess is the access to the locations with a prefix.
type vendedAccess struct {
	Prefix string            `json:"prefix"`
	Config map[string]string `json:"config"`
}

// parseVended finds the access to the table's own files in the reply to a request for it. Credentials for the longest
// prefix of the metadata's location count more than those in the table's config.
func parseVended(reply []byte, metadataLocation string) (vended, error) {
	var told struct {
		Config      map[string]string `json:"config"`
		Credentials []vendedAccess    `json:"storage-credentials"`
	}
	if err := json.Unmarshal(reply, &told); err != nil {
		return vended{}, fmt.Errorf("the table's config: %w", err)
	}
	v := vended{settings: maps.Clone(told.Config), access: append([]vendedAccess{{Config: told.Config}}, told.Credentials...)}
	access := v.closest(metadataLocation)
	if access[s3AccessKey] != "" {
		v.keys = aws.Credentials{AccessKeyID: access[s3AccessKey], SecretAccessKey: access[s3SecretKey], SessionToken: access[s3Token], Source: "catalog"}
	}
	v.expires = earliest(access)
	for name := range v.settings {
		if isVendedSecret(name) {
			delete(v.settings, name)
		}
	}
	return v, nil
}

// closest returns what was handed out for the longest prefix of a location.
func (v vended) closest(location string) map[string]string {
	var config map[string]string
	longest := -1
	for _, a := range v.access {
		if strings.HasPrefix(location, a.Prefix) && len(a.Prefix) > longest {
			config, longest = a.Config, len(a.Prefix)
		}
	}
	return config
}

// renewAt returns when credentials that came now are replaced: when half of their time is over, or five minutes before
// the end if that is later. Zero means never.
func (v vended) renewAt(now time.Time) time.Time {
	const margin = 5 * time.Minute
	if v.expires.IsZero() {
		return time.Time{}
	}
	left := max(v.expires.Sub(now), 0)
	return now.Add(max(left/2, left-margin))
}

// Retrieve implements aws.CredentialsProvider: it gives the table's newest credentials and replaces them in time.
func (f *tableFiles) Retrieve(ctx context.Context) (aws.Credentials, error) {
	v, err := f.fresh(ctx)
	return v.keys, err
}

// fresh returns the newest that was handed out, after asking for more when it is due for renewal.
func (f *tableFiles) fresh(ctx context.Context) (vended, error) {
	if v, due := f.access(); !due {
		return v, nil
	}
	err := f.renew(ctx, func() bool {
		_, due := f.access()
		return due
	})
	v, _ := f.access()
	if err != nil && !time.Now().Before(v.expires) {
		return vended{}, fmt.Errorf("credentials of %s expired at %s: %w", f.name, v.expires.Format(time.RFC3339), err)
	}
	return v, nil
}

func (f *tableFiles) access() (v vended, due bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.vended, !f.renewAt.IsZero() && !time.Now().Before(f.renewAt)
}

// renewal is the [storage.Options.Renewal] of the table's store.
func (f *tableFiles) renewal() func(context.Context) error {
	f.mu.Lock()
	before := f.loads
	f.mu.Unlock()
	return func(ctx context.Context) error {
		return f.renew(ctx, func() bool {
			f.mu.Lock()
			defer f.mu.Unlock()
			return f.loads == before
		})
	}
}

// renew loads the table again for its credentials. Callers take turns, and stale says whether there is still a need.
func (f *tableFiles) renew(ctx context.Context, stale func() bool) error {
	select {
	case f.turn <- struct{}{}:
		defer func() { <-f.turn }()
	case <-ctx.Done():
		return ctx.Err()
	}
	if !stale() {
		return nil
	}
	t, v, err := f.load(ctx)
	if err == nil && t.Metadata().TableUUID() != f.uuid {
		err = errors.New("there is another table of its name now")
	}
	if err != nil {
		return err
	}
	f.loaded(t, v)
	return nil
}

// renewingRetryer lets the SDK repeat what the store refused for its credentials, with others. It is for uploads in
// parts, which the SDK repeats part by part; everything else is repeated by the store.
type renewingRetryer struct {
	aws.RetryerV2
	files *tableFiles
}

// IsErrorRetryable implements aws.Retryer.
func (r renewingRetryer) IsErrorRetryable(err error) bool {
	if !storage.StaleCredentials(err) {
		return r.RetryerV2.IsErrorRetryable(err)
	}
	r.files.mu.Lock()
	defer r.files.mu.Unlock()
	r.files.renewAt = time.Now()
	return true
}
