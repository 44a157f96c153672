//go:build nogcs

package storage

import (
	"context"
	"net/url"

	"gocloud.dev/blob"

	"github.com/dvcompactor/dvcompactor/internal/storage/cloud"
)

func openGCS(context.Context, string, cloud.Properties) (*blob.Bucket, error) {
	return nil, leftOut("Google Cloud Storage", "nogcs")
}

func openGCSURL(context.Context, *url.URL, map[string]string) (*blob.Bucket, error) {
	return nil, leftOut("Google Cloud Storage", "nogcs")
}
