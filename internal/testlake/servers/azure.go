package servers

import (
	"context"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/container"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/sas"
	"github.com/stretchr/testify/require"
)

// The account that Azurite has, as its documentation says.
const (
	azureAccount = "devstoreaccount1"
	azureKey     = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="
)

// Azure is a running Azurite with its one account.
type Azure struct {
	// URL is its address, http://127.0.0.1:port.
	URL string
	names
}

// StartAzure starts a server without containers.
func StartAzure(t testing.TB) *Azure {
	p := start(t, program(t, "azurite-blob"), nil, func(host, port string) []string {
		return []string{"--blobHost", host, "--blobPort", port, "--inMemoryPersistence", "--skipApiVersionCheck", "--disableTelemetry", "--silent"}
	})
	return &Azure{URL: "http://" + p.address}
}

// Container makes a new container and returns its name.
func (s *Azure) Container(t testing.TB) string {
	name := s.next()
	transport := &http.Transport{DisableKeepAlives: true}
	client, err := container.NewClientWithSharedKeyCredential(s.URL+"/"+azureAccount+"/"+name, s.credential(t),
		&container.ClientOptions{ClientOptions: azcore.ClientOptions{Transport: &http.Client{Transport: transport}}})
	require.NoError(t, err)
	_, err = client.Create(context.Background(), nil)
	require.NoError(t, err)
	return name
}

func (s *Azure) credential(t testing.TB) *azblob.SharedKeyCredential {
	credential, err := azblob.NewSharedKeyCredential(azureAccount, azureKey)
	require.NoError(t, err)
	return credential
}

// Base returns the location of a container with a slash at its end, in a scheme like abfss.
func (s *Azure) Base(scheme, container string) string {
	return scheme + "://" + container + "@" + azureAccount + ".dfs.core.windows.net/"
}

// Properties returns the FileIO properties of a table on the server, with the account's key.
func (s *Azure) Properties() map[string]string {
	p := s.place()
	p["adls.auth.shared-key.account.name"], p["adls.auth.shared-key.account.key"] = azureAccount, azureKey
	return p
}

func (s *Azure) place() map[string]string {
	return map[string]string{"adls.endpoint": strings.TrimPrefix(s.URL, "http://"), "adls.protocol": "http"}
}

// Signed returns the FileIO properties with a signature for one container in place of the account's key: it allows what
// permissions say and ends at the given time.
func (s *Azure) Signed(t testing.TB, container string, permissions sas.ContainerPermissions, until time.Time) map[string]string {
	query, err := sas.BlobSignatureValues{
		Protocol: sas.ProtocolHTTPSandHTTP, ContainerName: container, Permissions: permissions.String(), ExpiryTime: until.UTC(),
	}.SignWithSharedKey(s.credential(t))
	require.NoError(t, err)
	p := s.place()
	p["adls.sas-token."+azureAccount+".dfs.core.windows.net"] = query.Encode()
	return p
}

// MountURL returns the URL of a container for a storage mount; its credentials are Properties'.
func (s *Azure) MountURL(container string) string {
	return "azblob://" + container + "?" + url.Values{
		"domain": {strings.TrimPrefix(s.URL, "http://")}, "protocol": {"http"}, "localemu": {"true"}, "storage_account": {azureAccount},
	}.Encode()
}
