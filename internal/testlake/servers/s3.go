package servers

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// S3 is a running versitygw. Its objects are plain files.
type S3 struct {
	// URL is its address, http://127.0.0.1:port.
	URL string
	dir string
	names
}

// StartS3 starts a server without buckets that takes only signed requests.
func StartS3(t testing.TB) *S3 {
	dir, versions := t.TempDir(), t.TempDir()
	p := start(t, program(t, "versitygw"), []string{"ROOT_ACCESS_KEY=user", "ROOT_SECRET_KEY=password"}, func(host, port string) []string {
		return []string{"--port", host + ":" + port, "--quiet", "posix", "--versioning-dir", versions, dir}
	})
	return &S3{URL: "http://" + p.address, dir: dir}
}

// Bucket makes a new bucket and returns its name.
func (s *S3) Bucket(t testing.TB) string {
	name := s.next()
	require.NoError(t, os.Mkdir(filepath.Join(s.dir, name), 0o755))
	return name
}

// Properties returns the FileIO properties of a table on the server.
func (s *S3) Properties() map[string]string {
	return map[string]string{"s3.endpoint": s.URL, "s3.region": "us-east-1", "s3.access-key-id": "user", "s3.secret-access-key": "password"}
}
