package catalog

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"strconv"
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
	s3ExpiresAt = "s3.session-token-expires-at-ms"
)

// vended is what a catalog hands out with a table for the access to its files.
type vended struct {
	keys     aws.Credentials // without a key when the catalog hands out none
	expires  time.Time       // zero when the catalog does not say
	settings map[string]string
}

// parseVended finds the S3 access to the table's own files in the reply to a request for it. Credentials for the longest
// prefix of the metadata's location count more than those in the table's config.
func parseVended(reply []byte, metadataLocation string) (vended, error) {
	var told struct {
		Config      map[string]string `json:"config"`
		Credentials []struct {
			Prefix string            `json:"prefix"`
			Config map[string]string `json:"config"`
		} `json:"storage-credentials"`
	}
	if err := json.Unmarshal(reply, &told); err != nil {
		return vended{}, fmt.Errorf("the table's config: %w", err)
	}
	access, longest := told.Config, -1
	for _, c := range told.Credentials {
		if strings.HasPrefix(metadataLocation, c.Prefix) && len(c.Prefix) > longest {
			access, longest = c.Config, len(c.Prefix)
		}
	}
	v := vended{settings: maps.Clone(told.Config)}
	if access[s3AccessKey] != "" {
		v.keys = aws.Credentials{AccessKeyID: access[s3AccessKey], SecretAccessKey: access[s3SecretKey], SessionToken: access[s3Token], Source: "catalog"}
	}
	if ms, err := strconv.ParseInt(access[s3ExpiresAt], 10, 64); err == nil && ms > 0 {
		v.expires = time.UnixMilli(ms)
	}
	for _, secret := range []string{s3AccessKey, s3SecretKey, s3Token, s3ExpiresAt} {
		delete(v.settings, secret)
	}
	return v, nil
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
	if v, due := f.access(); !due {
		return v.keys, nil
	}
	err := f.renew(ctx, func() bool {
		_, due := f.access()
		return due
	})
	v, _ := f.access()
	if err != nil && !time.Now().Before(v.expires) {
		return aws.Credentials{}, fmt.Errorf("credentials of %s expired at %s: %w", f.name, v.expires.Format(time.RFC3339), err)
	}
	return v.keys, nil
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
