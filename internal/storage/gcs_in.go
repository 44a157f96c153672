//go:build !nogcs

package storage

import (
	"context"
	"net/url"

	"gocloud.dev/blob"

	"github.com/dvcompactor/dvcompactor/internal/storage/cloud"
	"github.com/dvcompactor/dvcompactor/internal/storage/gcs"
)

func openGCS(ctx context.Context, name string, properties cloud.Properties) (*blob.Bucket, error) {
	return gcs.Open(ctx, name, properties)
}

func openGCSURL(ctx context.Context, u *url.URL, properties map[string]string) (*blob.Bucket, error) {
	return gcs.OpenURL(ctx, u, properties)
}
