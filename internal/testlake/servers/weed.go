package servers

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/dvcompactor/dvcompactor/internal/testlake/loopback"
	"github.com/stretchr/testify/require"
)

// Keys of SeaweedFS.
const (
	WeedKey    = "test"
	WeedSecret = "testtest"
)

// Weed is a running SeaweedFS: S3 and an Iceberg REST catalog.
type Weed struct {
	// S3 and Catalog are the addresses, http://127.0.0.1:port.
	S3, Catalog string
	// Warehouse is the location of the catalog's tables.
	Warehouse string
}

// StartWeed starts a server with an empty warehouse.
func StartWeed(t testing.TB) *Weed {
	path, dir := program(t, "weed"), t.TempDir()
	users := filepath.Join(dir, "s3.json")
	require.NoError(t, os.WriteFile(users, []byte(`{"identities":[{"name":"test","credentials":[{"accessKey":"`+WeedKey+`","secretKey":"`+WeedSecret+
		`"}],"actions":["Admin","Read","Write","List","Tagging"]}]}`), 0o600))
	w := &Weed{Warehouse: "s3://warehouse"}
	p := start(t, path, nil, func(host, port string) []string {
		s3 := loopback.FreeAddress(t)
		w.S3, w.Catalog = "http://"+s3, "http://"+net.JoinHostPort(host, port)
		arguments := []string{"mini", "-ip", host, "-ip.bind", host, "-dir", dir, "-master.telemetry=false", "-webdav=false", "-admin.ui=false",
			"-s3.config", users, "-bucket", "plain", "-tableBucket", "warehouse", "-s3.port.iceberg", port, "-s3.port", portOf(t, s3),
			"-s3.port.lance", "0", "-admin.port.legacy", "0"}
		for _, other := range []string{"master.port", "master.port.grpc", "volume.port", "volume.port.grpc", "filer.port", "filer.port.grpc", "s3.port.grpc", "admin.port", "admin.port.grpc"} {
			arguments = append(arguments, "-"+other, portOf(t, loopback.FreeAddress(t)))
		}
		return arguments
	})
	require.True(t, strings.HasSuffix(w.Catalog, p.address))
	return w
}

// Properties returns the FileIO properties of the tables.
func (w *Weed) Properties() map[string]string {
	return map[string]string{"s3.endpoint": w.S3, "s3.region": "us-east-1", "s3.access-key-id": WeedKey, "s3.secret-access-key": WeedSecret}
}

func portOf(t testing.TB, address string) string {
	_, port, err := net.SplitHostPort(address)
	require.NoError(t, err)
	return port
}
