package storage

import (
	"context"
	"fmt"

	"gocloud.dev/blob"
	"gocloud.dev/blob/s3blob"

	"github.com/dvcompactor/dvcompactor/internal/storage/cloud"
)

const (
	schemeGS     = "gs"
	schemeAzblob = "azblob" // of the URL of a mount, not of locations
)

// isAzure tells whether the locations of a scheme are on Azure.
func isAzure(scheme string) bool {
	return scheme == "abfs" || scheme == "abfss" || scheme == "wasb" || scheme == "wasbs"
}

// OnOtherCloud tells whether a location is on Google Cloud Storage or Azure.
func OnOtherCloud(location string) bool {
	loc, err := splitCloud(location)
	return err == nil && (loc.scheme == schemeGS || isAzure(loc.scheme))
}

// OpenCloud opens the bucket of a location for which [OnOtherCloud] is true. The bucket asks for properties whenever it
// needs credentials, so that they can be renewed while it is in use. The caller closes it.
func OpenCloud(ctx context.Context, location string, properties func(context.Context) (map[string]string, error)) (*blob.Bucket, error) {
	loc, err := splitCloud(location)
	if err != nil {
		return nil, err
	}
	return openCloud(ctx, loc, properties)
}

func openCloud(ctx context.Context, loc cloudLocation, properties cloud.Properties) (*blob.Bucket, error) {
	switch {
	case loc.scheme == schemeGS:
		return openGCS(ctx, loc.authority, properties)
	case isAzure(loc.scheme):
		return openAzure(ctx, loc.authority, properties)
	default:
		return nil, fmt.Errorf(
			"%w: nothing is configured for %s://%s; add it under storage: as {prefix: %q, url: ...}",
			ErrUnknownScheme, loc.scheme, loc.authority, loc.scheme+"://"+loc.authority+"/")
	}
}

// portable is a bucket that somebody else made.
func portable(b *blob.Bucket, name string) bucket {
	var whole cloud.Whole
	return bucket{blob: b, s3: newS3Direct(b, name, s3blob.Options{}), whole: b.As(&whole) && bool(whole)}
}
