package storage

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"strings"

	"github.com/apache/iceberg-go/io"
	"github.com/apache/iceberg-go/io/gocloud/blobfs"
	_ "github.com/apache/iceberg-go/io/gocloud/s3" // makes io.LoadFS know s3, s3a and s3n
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"gocloud.dev/blob"
	"gocloud.dev/blob/memblob"
	"gocloud.dev/blob/s3blob"

	"github.com/dvcompactor/dvcompactor/internal/storage/cloud"
	"github.com/dvcompactor/dvcompactor/internal/storage/localblob"
)

// bucket is a gocloud bucket with what is needed to use it well.
type bucket struct {
	blob *blob.Bucket
	// prefix is put before every key.
	prefix string
	// local buckets take writes as they come; others get one PUT when the object is complete and small.
	local bool
	// whole buckets write an object with one request when they get all of it at once.
	whole bool
	// s3 is nil when the bucket is not on S3 or hides its client.
	s3 *s3Direct
	// closeIdle, if set, closes the connections of the bucket that are idle.
	closeIdle func()
}

func (b bucket) close() error {
	if b.blob == nil {
		return nil
	}
	if b.closeIdle != nil {
		defer b.closeIdle()
	}
	return b.blob.Close()
}

// openMount opens the URL of a mount.
func (s *Store) openMount(ctx context.Context, rawURL string) (bucket, error) {
	u, err := url.Parse(rawURL)
	if err != nil {
		return bucket{}, errors.New("the URL cannot be parsed; write for instance file:///dir or s3://bucket?region=eu-west-1")
	}
	if u.Scheme == "file" {
		return openFolder(u)
	}
	prefix := takePrefix(u)
	b, err := s.openMountBucket(ctx, u)
	if err != nil {
		return bucket{}, err
	}
	b.prefix = prefix
	return b, nil
}

func (s *Store) openMountBucket(ctx context.Context, u *url.URL) (bucket, error) {
	if open, ok := s.opts.Openers[u.Scheme]; ok {
		b, err := open(ctx, u, s.opts.Properties)
		if err != nil {
			return bucket{}, scrub(err, u)
		}
		return portable(b, u.Host), nil
	}
	switch u.Scheme {
	case memblob.Scheme:
		b, err := (&memblob.URLOpener{}).OpenBucketURL(ctx, u)
		return bucket{blob: b}, err
	case s3blob.Scheme:
		opener := &s3blob.URLOpener{}
		b, err := opener.OpenBucketURL(ctx, u)
		if err != nil {
			return bucket{}, scrub(err, u)
		}
		return ownS3(ctx, b, u.Host, opener.Options)
	case schemeGS:
		b, err := openGCSURL(ctx, u, s.opts.Properties)
		return mountedCloud(b, err, u)
	case schemeAzblob:
		b, err := openAzureURL(ctx, u, s.opts.Properties)
		return mountedCloud(b, err, u)
	default:
		return bucket{}, fmt.Errorf("%w: nothing can open URLs of scheme %q; use file, mem, s3, gs or azblob", ErrUnknownScheme, u.Scheme)
	}
}

// mountedCloud is what the opening of a mount on another cloud than S3 comes to.
func mountedCloud(b *blob.Bucket, err error, u *url.URL) (bucket, error) {
	if err != nil {
		return bucket{}, scrub(err, u)
	}
	return portable(b, u.Host), nil
}

// openFolder opens file:///dir. Its path is decoded as in any URL; the keys below it never are.
func openFolder(u *url.URL) (bucket, error) {
	if u.Host != "" && u.Host != "localhost" || !filepath.IsAbs(u.Path) {
		return bucket{}, errors.New("the folder is not absolute; write file:///dir with three slashes")
	}
	if u.RawQuery != "" || u.Fragment != "" {
		return bucket{}, errors.New("a file URL takes no parameters; write ? as %3F and # as %23 in the folder name")
	}
	b, err := localblob.OpenBucket(localblob.Options{Dir: u.Path})
	return bucket{blob: b, local: true}, err
}

// takePrefix removes path and prefix parameter from u and returns what they put before every key.
func takePrefix(u *url.URL) string {
	prefix := strings.TrimPrefix(u.Path, "/")
	if prefix != "" && !strings.HasSuffix(prefix, "/") {
		prefix += "/"
	}
	query := u.Query()
	prefix += query.Get("prefix")
	query.Del("prefix")
	u.Path, u.RawPath, u.RawQuery = "", "", query.Encode()
	return prefix
}

// openCloud opens the bucket of a location without a mount.
func (s *Store) openCloud(ctx context.Context, loc cloudLocation) (bucket, error) {
	u := &url.URL{Scheme: loc.scheme, Host: loc.authority}
	if open, ok := s.opts.Openers[loc.scheme]; ok {
		b, err := open(ctx, u, s.opts.Properties)
		if err != nil {
			return bucket{}, err
		}
		return portable(b, loc.authority), nil
	}
	switch loc.scheme {
	case "s3", "s3a", "s3n":
		b, err := openIcebergS3(ctx, u, s.opts.Properties)
		if err != nil {
			return bucket{}, err
		}
		return ownS3(ctx, b, loc.authority, s3blob.Options{})
	}
	b, err := openCloud(ctx, loc, cloud.Fixed(s.opts.Properties))
	if err != nil {
		return bucket{}, err
	}
	return portable(b, loc.authority), nil
}

// ownS3 opens a bucket again with connections of its own, which end with it.
func ownS3(ctx context.Context, b *blob.Bucket, name string, opts s3blob.Options) (bucket, error) {
	direct := newS3Direct(b, name, opts)
	if direct == nil {
		return bucket{blob: b}, nil
	}
	client, closeIdle := OwnConnections(direct.client)
	own, err := s3blob.OpenBucket(ctx, client, name, &opts)
	if err = errors.Join(err, b.Close()); err != nil {
		return bucket{}, err
	}
	return bucket{blob: own, s3: newS3Direct(own, name, opts), closeIdle: closeIdle}, nil
}

// openIcebergS3 opens an S3 bucket the way iceberg-go does for the FileIO properties of a table.
func openIcebergS3(ctx context.Context, u *url.URL, properties map[string]string) (*blob.Bucket, error) {
	// Opening keeps no reference to the context beyond the loading of the AWS configuration, but its FileIO does.
	fsys, err := io.LoadFS(context.WithoutCancel(ctx), properties, u.Scheme+"://"+u.Host+"/")
	if err != nil {
		return nil, err
	}
	f, ok := fsys.(*blobfs.FileIO)
	if !ok {
		return nil, fmt.Errorf("%w: the FileIO of %s is a %T without a bucket", ErrUnknownScheme, u.Host, fsys)
	}
	return f.Bucket, nil
}

// newS3Direct returns nil when b is not on S3.
func newS3Direct(b *blob.Bucket, name string, opts s3blob.Options) *s3Direct {
	var client *s3.Client
	if !b.As(&client) || client == nil {
		return nil
	}
	return &s3Direct{client: client, bucket: name, opts: opts}
}

// RedactURL returns a store URL without its parameters and password, fit for logs and errors.
func RedactURL(rawURL string) string {
	base, _, _ := strings.Cut(rawURL, "?")
	scheme, rest, found := strings.Cut(base, "://")
	if !found {
		return base
	}
	authority, path, hasPath := strings.Cut(rest, "/")
	if i := strings.LastIndexByte(authority, '@'); i >= 0 {
		authority = "xxxxx@" + authority[i+1:]
	}
	if hasPath {
		authority += "/" + path
	}
	return scheme + "://" + authority
}

// scrub keeps the parameters of a URL out of the text of the error of opening it.
func scrub(err error, u *url.URL) error {
	if u.RawQuery == "" || !strings.Contains(err.Error(), u.RawQuery) {
		return err
	}
	return errors.New(strings.ReplaceAll(err.Error(), u.RawQuery, "..."))
}
