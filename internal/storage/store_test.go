package storage_test

import (
	"context"
	"errors"
	"io/fs"
	"net/url"
	"strings"
	"testing"

	"gocloud.dev/blob"
	"gocloud.dev/blob/memblob"

	"github.com/dvcompactor/dvcompactor/internal/storage"
)

func TestOpenRefusesBadMounts(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		mounts []storage.Mount
		want   string
	}{
		{"an empty prefix", []storage.Mount{{URL: "mem://"}}, "prefix is empty"},
		{"the same prefix twice", []storage.Mount{{Prefix: "s3://a", URL: "mem://"}, {Prefix: "s3://a/", URL: "mem://"}}, "mapped twice"},
		{"an unknown scheme", []storage.Mount{{Prefix: "s3://a/", URL: "ftp://x"}}, "nothing can open"},
		{"a relative folder", []storage.Mount{{Prefix: "s3://a/", URL: "file://x/y"}}, "not absolute"},
		{"a folder with parameters", []storage.Mount{{Prefix: "s3://a/", URL: "file:///x?y=1"}}, "no parameters"},
		{"a URL that is none", []storage.Mount{{Prefix: "s3://a/", URL: "s3://%zz"}}, "cannot be parsed"},
		{"an unknown S3 parameter", []storage.Mount{{Prefix: "s3://a/", URL: "s3://b?hunter2=1"}}, "unknown query parameter"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			_, err := storage.Open(t.Context(), storage.Options{Mounts: tt.mounts})
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want %q in it", err, tt.want)
			}
		})
	}
}

func TestMountErrorsKeepParametersSecret(t *testing.T) {
	t.Parallel()
	refuse := func(_ context.Context, u *url.URL, _ map[string]string) (*blob.Bucket, error) {
		return nil, errors.New("cannot open " + u.String())
	}
	_, err := storage.Open(t.Context(), storage.Options{
		Mounts:  []storage.Mount{{Prefix: "az://c/", URL: "azblob://c?sas=hunter2"}},
		Openers: map[string]storage.OpenBucketFunc{"azblob": refuse},
	})
	if err == nil || strings.Contains(err.Error(), "hunter2") || !strings.Contains(err.Error(), "az://c/") {
		t.Errorf("got %v", err)
	}
}

func TestOpenersServeMountsAndLocations(t *testing.T) {
	t.Parallel()
	var opened []string
	opener := func(_ context.Context, u *url.URL, properties map[string]string) (*blob.Bucket, error) {
		opened = append(opened, u.String()+" "+properties["gcs.token"])
		return memblob.OpenBucket(nil), nil
	}
	s := open(t, storage.Options{
		Mounts:     []storage.Mount{{Prefix: "gs://mapped/", URL: "gs://real/dir?x=1"}},
		Properties: map[string]string{"gcs.token": "t"},
		Openers:    map[string]storage.OpenBucketFunc{"gs": opener},
	})
	for range 2 {
		write(t, s, "gs://mapped/a", []byte("1"))
		write(t, s, "gs://direct/a", []byte("2"))
	}
	wantContent(t, s, "gs://mapped/a", []byte("1"))
	wantContent(t, s, "gs://direct/a", []byte("2"))
	if got, want := strings.Join(opened, ", "), "gs://real?x=1 t, gs://direct t"; got != want {
		t.Errorf("opened %s, want %s", got, want)
	}
}

func TestFallback(t *testing.T) {
	t.Parallel()
	lab := newS3Lab(t)
	owner := open(t, storage.Options{Properties: lab.Properties()})
	write(t, owner, "s3://lake/x", []byte("in S3"))
	vended, err := memblob.OpenBucket(nil), error(nil)
	t.Cleanup(func() { _ = vended.Close() })
	asked := 0
	s := open(t, storage.Options{
		Mounts:     []storage.Mount{{Prefix: "s3://mapped/", URL: "mem://"}},
		Properties: lab.Properties(),
		Fallback: func(_ context.Context, location string) (*blob.Bucket, error) {
			asked++
			if strings.HasPrefix(location, "s3://lake/") {
				return nil, nil
			}
			return vended, err
		},
	})
	write(t, s, "s3://mapped/x", nil)
	write(t, s, "file://"+t.TempDir()+"/x", nil)
	if asked != 0 {
		t.Error("asked about a mapped or a local location")
	}
	write(t, s, "s3://vended/x", []byte("v"))
	if got, err := vended.ReadAll(t.Context(), "x"); string(got) != "v" || err != nil {
		t.Errorf("the bucket holds %q, %v", got, err)
	}
	wantContent(t, s, "s3://lake/x", []byte("in S3"))
	if asked != 2 {
		t.Errorf("asked %d times", asked)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if ok, err := vended.Exists(t.Context(), "x"); !ok || err != nil {
		t.Errorf("the caller's bucket was closed: %v", err)
	}
}

func TestFallbackError(t *testing.T) {
	t.Parallel()
	denied := errors.New("no credentials today")
	s := open(t, storage.Options{
		Fallback: func(context.Context, string) (*blob.Bucket, error) { return nil, denied },
	})
	if _, err := s.ReadFile(t.Context(), "s3://lake/x"); !errors.Is(err, denied) {
		t.Errorf("got %v", err)
	}
}

func TestClosedStore(t *testing.T) {
	t.Parallel()
	s, err := storage.Open(t.Context(), storage.Options{Mounts: []storage.Mount{{Prefix: "s3://lake/", URL: "mem://"}}})
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(s.Close(), s.Close()); err != nil {
		t.Error(err)
	}
	if err := s.WriteFile(t.Context(), "s3://lake/x", nil); !errors.Is(err, fs.ErrClosed) {
		t.Errorf("got %v", err)
	}
}
