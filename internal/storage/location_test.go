package storage

import (
	"errors"
	"io/fs"
	"strings"
	"testing"
	"time"

	"github.com/aws/smithy-go"
)

func TestResolve(t *testing.T) {
	t.Parallel()
	s, err := Open(t.Context(), Options{Mounts: []Mount{
		{Prefix: "s3://lake/", URL: "mem://"},
		{Prefix: "s3://lake/hot/", URL: "mem://"},
		{Prefix: "s3://bare", URL: "mem://"},
		{Prefix: "file:/mapped/", URL: "file://" + t.TempDir()},
		{Prefix: "gs://b/", URL: "s3://other/in/side?region=r&anonymous=true&prefix=p-"},
	}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	mount := func(prefix string) bucket {
		for _, m := range s.mounts {
			if m.prefix == prefix {
				return m.bucket
			}
		}
		t.Fatalf("no mount %s", prefix)
		return bucket{}
	}
	tests := []struct {
		name, location, mount, key string
		err                        error
	}{
		{"a mount takes its prefix off", "s3://lake/a/b", "s3://lake/", "a/b", nil},
		{"the longest prefix wins", "s3://lake/hot/a", "s3://lake/hot/", "a", nil},
		{"a prefix ends at a slash", "s3://bare/a", "s3://bare/", "a", nil},
		{"a longer bucket name is another bucket", "s3://bare2/a", "s3", "a", nil},
		{"a key is byte exact", "s3://lake//x%20?y#z ü/../+", "s3://lake/", "/x%20?y#z ü/../+", nil},
		{"a local prefix can be mapped", "file:/mapped/a", "file:/mapped/", "a", nil},
		{"path and prefix of a URL come before the key", "gs://b/k", "gs://b/", "in/side/p-k", nil},
		{"file with three slashes is local", "file:///w/t", "local", "w/t", nil},
		{"file with one slash is local", "file:/w/t", "local", "w/t", nil},
		{"file on localhost is local", "file://localhost/w/t", "local", "w/t", nil},
		{"an absolute path is local", "/w/a b%20", "local", "w/a b%20", nil},
		{"a local path is not decoded", "file:///w/a%20b", "local", "w/a%20b", nil},
		{"s3a is S3", "s3a://bare2/a/b", "s3", "a/b", nil},
		{"a file on another host is refused", "file://host/w", "", "", ErrInvalidLocation},
		{"a relative file is refused", "file:w", "", "", ErrInvalidLocation},
		{"a relative path is refused", "w/t", "", "", ErrInvalidLocation},
		{"nothing is refused", "", "", "", ErrInvalidLocation},
		{"the root is no object", "/", "", "", ErrInvalidLocation},
		{"a bucket is no object", "s3://lake/", "", "", ErrInvalidLocation},
		{"a bucket without slash is no object", "s3://other", "", "", ErrInvalidLocation},
		{"an empty bucket is refused", "s3:///x", "", "", ErrInvalidLocation},
		{"NUL is refused", "s3://lake/a\x00b", "", "", ErrInvalidLocation},
		{"bytes that are no UTF-8 are refused", "s3://lake/a\xffb", "", "", ErrInvalidLocation},
		{"a key above its mount is refused", "s3://lake/../x", "", "", ErrInvalidLocation},
		{"a key above its mount for a moment is refused", "s3://lake/a/../../lake/x", "", "", ErrInvalidLocation},
		{"a path above the root is refused", "/../etc/passwd", "", "", ErrInvalidLocation},
		{"an unknown scheme is refused", "oss://other/x", "", "", ErrUnknownScheme},
		{"hdfs is refused", "hdfs://nn:8020/x", "", "", ErrUnknownScheme},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, err := s.resolve(t.Context(), tt.location)
			if !errors.Is(err, tt.err) || tt.err == nil && err != nil {
				t.Fatalf("got error %v, want %v", err, tt.err)
			}
			if tt.err != nil {
				return
			}
			if got.key != tt.key {
				t.Errorf("got key %q, want %q", got.key, tt.key)
			}
			switch tt.mount {
			case "local":
				if got.blob != s.local {
					t.Error("not the local bucket")
				}
			case "s3":
				if got.s3 == nil {
					t.Error("not on S3")
				}
			default:
				if got.blob != mount(tt.mount).blob {
					t.Error("another mount")
				}
			}
		})
	}
}

func TestUnknownSchemeSaysWhatToConfigure(t *testing.T) {
	t.Parallel()
	s, err := Open(t.Context(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	_, err = s.ReadFile(t.Context(), "oss://lake/db/t/x.avro")
	for _, want := range []string{"oss://lake/db/t/x.avro", "storage:", `{prefix: "oss://lake/"`} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v does not contain %q", err, want)
		}
	}
}

func TestErrorsOfTheSDKAreJudgedByTheirCode(t *testing.T) {
	t.Parallel()
	dial := &smithy.OperationError{ServiceID: "S3", OperationName: "GetObject", Err: errors.New("dial tcp 10.0.0.1:3010: refused")}
	if err := classify(dial); errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a port number makes a missing object: %v", err)
	}
	nested := &smithy.OperationError{ServiceID: "S3", OperationName: "GetObject", Err: dial}
	if err := classify(nested); !errors.Is(err, ErrPermission) || Transient(err) {
		t.Errorf("missing credentials: %v", err)
	}
}

func TestRetryDelay(t *testing.T) {
	t.Parallel()
	o := RetryOptions{BaseDelay: 100 * time.Millisecond, MaxDelay: time.Second}
	for attempt, most := range map[int]time.Duration{
		1: 100 * time.Millisecond, 2: 200 * time.Millisecond, 4: 800 * time.Millisecond, 5: time.Second, 200: time.Second,
	} {
		for range 100 {
			if d := o.delay(attempt); d < most/2 || d > most {
				t.Fatalf("attempt %d: pause %v is not within half of %v", attempt, d, most)
			}
		}
	}
}

func TestRedactURL(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"s3://b/p?endpoint=http://x&secret=y": "s3://b/p",
		"azblob://user:pw@acct/c?sas=1":       "azblob://xxxxx@acct/c",
		"mem://":                              "mem://",
		"not a url?x":                         "not a url",
	} {
		if got := RedactURL(in); got != want {
			t.Errorf("RedactURL(%q) = %q, want %q", in, got, want)
		}
	}
}

func FuzzResolve(f *testing.F) {
	for _, seed := range []string{"s3://lake/a", "file:///a", "/a", "s3://lake/../a", "x", "://", "file:", "s3://lake/a/../../b"} {
		f.Add(seed)
	}
	s, err := Open(f.Context(), Options{Mounts: []Mount{{Prefix: "s3://lake", URL: "mem://"}}})
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { _ = s.Close() })
	f.Fuzz(func(t *testing.T, location string) {
		got, err := s.resolve(t.Context(), location)
		if err != nil {
			return
		}
		if !strings.HasSuffix(location, got.key) || got.key == "" || escapes(got.key) {
			t.Errorf("%q gave key %q", location, got.key)
		}
	})
}
