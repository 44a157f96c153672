package storage

import (
	"bytes"
	"context"
	"net/http"

	"github.com/aws/aws-sdk-go-v2/aws"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"gocloud.dev/blob"
	"gocloud.dev/blob/s3blob"
)

// s3Direct uses the client of an S3 bucket without the portable layer, for three reasons: keys stay as they are, a
// removal needs no HEAD first, and the SDK's own retries are off, so that a conditional PUT that was repeated by
// somebody else cannot meet its own first attempt unnoticed.
type s3Direct struct {
	client *s3.Client
	bucket string
	opts   s3blob.Options
}

// once switches the retries of the SDK off for one request, and a warning for every object without a checksum.
func once(o *s3.Options) {
	o.Retryer = aws.NopRetryer{}
	o.DisableLogOutputChecksumValidationSkipped = true
}

func (d *s3Direct) size(ctx context.Context, key, version string) (int64, error) {
	out, err := d.client.HeadObject(ctx, &s3.HeadObjectInput{Bucket: &d.bucket, Key: &key, VersionId: versionParameter(version)}, once)
	if err != nil {
		return 0, err
	}
	if err := checkVersion(version, out.VersionId); err != nil {
		return 0, err
	}
	return aws.ToInt64(out.ContentLength), nil
}

func (d *s3Direct) put(ctx context.Context, key string, data []byte, ifAbsent bool) error {
	in := &s3.PutObjectInput{
		Bucket:               &d.bucket,
		Key:                  &key,
		Body:                 bytes.NewReader(data),
		ContentLength:        aws.Int64(int64(len(data))),
		ContentType:          aws.String(contentType),
		ServerSideEncryption: d.opts.EncryptionType,
	}
	if d.opts.KMSEncryptionID != "" {
		in.SSEKMSKeyId = &d.opts.KMSEncryptionID
	}
	if ifAbsent {
		in.IfNoneMatch = aws.String("*")
	}
	_, err := d.client.PutObject(ctx, in, once)
	return err
}

func (d *s3Direct) remove(ctx context.Context, key string) error {
	_, err := d.client.DeleteObject(ctx, &s3.DeleteObjectInput{Bucket: &d.bucket, Key: &key}, once)
	return err
}

func versionParameter(version string) *string {
	if version == "" {
		return nil
	}
	return &version
}

// readHook makes a read through the portable layer use the exact key, the version and no retries of the SDK.
func readHook(key, version string) func(as func(any) bool) error {
	return func(as func(any) bool) error {
		var in *s3.GetObjectInput
		if as(&in) {
			in.Key, in.VersionId = &key, versionParameter(version)
		}
		var options *[]func(*s3.Options)
		if as(&options) {
			*options = append(*options, once)
		}
		return nil
	}
}

// s3Reply returns the reply behind a reader, or false when the reader is not one of S3.
func s3Reply(r *blob.Reader) (*s3.GetObjectOutput, bool) {
	var out s3.GetObjectOutput
	if !r.As(&out) {
		return nil, false
	}
	return &out, true
}

// OwnConnections returns a client like c whose connections nobody else uses, and a function that closes those that are
// idle. The SDK's own HTTP client cannot be told to, so that its connections outlive everything that used them.
func OwnConnections(c *s3.Client, more ...func(*s3.Options)) (own *s3.Client, closeIdle func()) {
	closeIdle = func() {}
	own = s3.New(c.Options(), append([]func(*s3.Options){func(o *s3.Options) {
		sdk, ok := o.HTTPClient.(*awshttp.BuildableClient)
		if !ok {
			return
		}
		transport := sdk.GetTransport()
		o.HTTPClient = &http.Client{Transport: transport, Timeout: sdk.GetTimeout(), CheckRedirect: limitRedirects}
		closeIdle = transport.CloseIdleConnections
	}}, more...)...)
	return own, closeIdle
}

// limitRedirects follows what the SDK's own client follows: redirects that keep method and body.
func limitRedirects(r *http.Request, via []*http.Request) error {
	const most = 10
	if code := r.Response.StatusCode; len(via) < most && (code == http.StatusTemporaryRedirect || code == http.StatusPermanentRedirect) {
		return nil
	}
	return http.ErrUseLastResponse
}
