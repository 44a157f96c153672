package storage

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
)

// ErrNoVersions tells that a store keeps no versions of its objects, or that nothing here knows how to ask it for them:
// only S3 is asked.
var ErrNoVersions = errors.New("the store tells no versions of its objects")

// nullVersion is the id of what was written before the versioning of a bucket was switched on, or while it is suspended.
const nullVersion = "null"

// Version is one content that an object has or had.
type Version struct {
	// ID is the store's name for it: any text, "null" without versioning.
	ID string
	// Size is its size in bytes.
	Size int64
	// Time is when it was written, by the store's clock.
	Time time.Time
	// Current tells whether it is what a read without a version gets.
	Current bool
}

// Versions returns what the store still has of an object, newest first, also of one that was removed or replaced; delete
// markers are left out. There is none of an object that never was. It is one LIST for each page of up to a thousand. A
// store other than S3, or one on S3 that has no such request, gives [ErrNoVersions]. S3 wants the permission
// s3:ListBucketVersions for it, and s3:GetObjectVersion for reading one.
func (s *Store) Versions(ctx context.Context, location string) ([]Version, error) {
	t, err := s.resolve(ctx, location)
	if err == nil && t.s3 == nil {
		err = ErrNoVersions
	}
	var out []Version
	if err == nil {
		out, err = s.allVersions(ctx, t)
	}
	if err != nil {
		return nil, &Error{Op: OpList, Location: location, Err: err}
	}
	slices.SortStableFunc(out, func(a, b Version) int { return b.Time.Compare(a.Time) })
	return out, nil
}

// allVersions reads page after page.
func (s *Store) allVersions(ctx context.Context, t target) (out []Version, err error) {
	for after := ""; ; {
		var page versionPage
		err = s.retry(ctx, func(int) error {
			return s.request(OpList, func() (err error) {
				page, err = t.s3.versions(ctx, t.key, after)
				return err
			})
		})
		if err != nil {
			return nil, err
		}
		out = append(out, page.versions...)
		if page.next == "" {
			return out, nil
		}
		if page.next == after {
			return nil, fmt.Errorf("%w: the versions after %q begin with it", ErrWrongReply, after)
		}
		after = page.next
	}
}

// versionPage is a part of the versions of one key. Others follow after the version next, unless it is empty.
type versionPage struct {
	versions []Version
	next     string
}

// versions asks for one page. S3 lists versions by prefix, sorted by key, so that those of the key itself come first.
func (d *s3Direct) versions(ctx context.Context, key, after string) (versionPage, error) {
	in := &s3.ListObjectVersionsInput{Bucket: &d.bucket, Prefix: &key, EncodingType: types.EncodingTypeUrl} // XML cannot hold every key
	if after != "" {
		in.KeyMarker, in.VersionIdMarker = &key, &after
	}
	out, err := d.client.ListObjectVersions(ctx, in, once)
	if err != nil {
		return versionPage{}, withoutVersions(err)
	}
	return readPage(out, key)
}

func readPage(out *s3.ListObjectVersionsOutput, key string) (page versionPage, err error) {
	others := false
	for _, v := range out.Versions {
		if decodeKey(v.Key, out.EncodingType) == key {
			page.versions = append(page.versions, versionOf(v))
		} else {
			others = true
		}
	}
	for _, m := range out.DeleteMarkers {
		others = others || decodeKey(m.Key, out.EncodingType) != key
	}
	if others || !aws.ToBool(out.IsTruncated) {
		return page, nil
	}
	switch next := decodeKey(out.NextKeyMarker, out.EncodingType); {
	case next != "" && next != key:
		return page, nil
	case next == "" || aws.ToString(out.NextVersionIdMarker) == "":
		return page, fmt.Errorf("%w: there are more versions, and it does not say after which", ErrWrongReply)
	}
	page.next = *out.NextVersionIdMarker
	return page, nil
}

func versionOf(v types.ObjectVersion) Version {
	id := aws.ToString(v.VersionId)
	if id == "" {
		id = nullVersion
	}
	return Version{ID: id, Size: aws.ToInt64(v.Size), Time: aws.ToTime(v.LastModified), Current: aws.ToBool(v.IsLatest)}
}

// decodeKey undoes the encoding of a key in a reply, where the store has done what it was asked to.
func decodeKey(name *string, encoding types.EncodingType) string {
	key := aws.ToString(name)
	if encoding != types.EncodingTypeUrl {
		return key
	}
	if decoded, err := url.QueryUnescape(key); err == nil {
		return decoded
	}
	return key
}

// withoutVersions gives the error of a store that does not know the request its kind.
func withoutVersions(err error) error {
	if status := httpStatus(err); status == http.StatusNotImplemented || status == http.StatusMethodNotAllowed {
		return &kindError{kind: ErrNoVersions, cause: err}
	}
	return err
}

// checkVersion refuses the content of another version than the one that was asked for. A store that does not know the
// parameter sends the current one.
func checkVersion(asked string, sent *string) error {
	if got := aws.ToString(sent); asked != "" && got != asked && (asked != nullVersion || got != "") {
		return fmt.Errorf("%w: it sent version %q instead of %q", ErrWrongReply, got, asked)
	}
	return nil
}

// ObjectVersion returns a reader of one of the [Store.Versions] of the object at location. No request is sent. In a
// store without versions reads fail with [ErrNoVersions].
func (s *Store) ObjectVersion(location string, v Version) *Object {
	o := s.Object(location, v.Size)
	o.version = v.ID
	if v.ID == "" {
		o.version = nullVersion
	}
	return o
}

// address says which content to read.
type address struct {
	location string
	version  string // empty for the current one
}

// find resolves a.
func (a address) find(ctx context.Context, s *Store) (target, error) {
	t, err := s.resolve(ctx, a.location)
	if err == nil && a.version != "" && t.s3 == nil {
		err = ErrNoVersions
	}
	t.version = a.version
	return t, err
}

// fail makes the error of a read.
func (a address) fail(op Op, offset, length int64, err error) error {
	return &Error{Op: op, Location: a.location, Version: a.version, Offset: offset, Length: length, Err: err}
}
