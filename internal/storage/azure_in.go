//go:build !noazure

package storage

import (
	"context"
	"net/url"

	"gocloud.dev/blob"

	"github.com/dvcompactor/dvcompactor/internal/storage/azure"
	"github.com/dvcompactor/dvcompactor/internal/storage/cloud"
)

func openAzure(ctx context.Context, authority string, properties cloud.Properties) (*blob.Bucket, error) {
	return azure.Open(ctx, authority, properties)
}

func openAzureURL(ctx context.Context, u *url.URL, properties map[string]string) (*blob.Bucket, error) {
	return azure.OpenURL(ctx, u, properties)
}
