//go:build noazure

package storage

import (
	"context"
	"net/url"

	"gocloud.dev/blob"

	"github.com/dvcompactor/dvcompactor/internal/storage/cloud"
)

func openAzure(context.Context, string, cloud.Properties) (*blob.Bucket, error) {
	return nil, leftOut("Azure", "noazure")
}

func openAzureURL(context.Context, *url.URL, map[string]string) (*blob.Bucket, error) {
	return nil, leftOut("Azure", "noazure")
}
