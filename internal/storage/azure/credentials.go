package azure

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/azidentity"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/container"
	"gocloud.dev/blob"

	"github.com/dvcompactor/dvcompactor/internal/storage/cloud"
)

// Properties of a table's FileIO that hold credentials.
const (
	accountName      = "adls.auth.shared-key.account.name"
	accountKey       = "adls.auth.shared-key.account.key"
	sasToken         = "adls.sas-token"
	accessToken      = "adls.token"
	connectionString = "adls.connection-string"
	tenantID         = "adls.tenant-id"
	clientID         = "adls.client-id"
	clientSecret     = "adls.client-secret"
	managedIdentity  = "adls.auth.managed-identity.enabled"
)

// open makes the client of a container.
func open(p place, told map[string]string, properties cloud.Properties) (*blob.Bucket, error) {
	transport := cloud.OwnTransport()
	core := azcore.ClientOptions{Transport: &http.Client{Transport: transport}}
	core.PerRetryPolicies = []policy.Policy{&signer{place: p, properties: properties}}
	client, err := p.client(told, properties, core)
	if err != nil {
		return nil, fmt.Errorf("access to the Azure storage account %s: %w", p.account, err)
	}
	return blob.NewBucket(&bucket{client: client, closeIdle: transport.CloseIdleConnections}), nil
}

// client chooses the first credentials that there are.
func (p place) client(told map[string]string, properties cloud.Properties, core azcore.ClientOptions) (*container.Client, error) {
	opts := &container.ClientOptions{ClientOptions: core}
	where := strings.TrimRight(p.service, "/") + "/" + p.container
	env := p.environment()
	switch {
	case told[accountName] != "":
		return shared(where, told[accountName], told[accountKey], opts)
	case p.named(told, sasToken) != "":
		return container.NewClientWithNoCredential(where, opts)
	case told[accessToken] != "":
		return container.NewClient(where, &vendedToken{properties: properties}, opts)
	case p.named(told, connectionString) != "":
		return container.NewClientFromConnectionString(p.named(told, connectionString), p.container, opts)
	case told[clientSecret] != "", cloud.IsTrue(told[managedIdentity]):
		return identity(where, told, opts)
	case env["AZURE_STORAGE_KEY"] != "":
		return shared(where, p.account, env["AZURE_STORAGE_KEY"], opts)
	case env["AZURE_STORAGE_SAS_TOKEN"] != "":
		return container.NewClientWithNoCredential(where, opts)
	case env["AZURE_STORAGE_CONNECTION_STRING"] != "":
		return container.NewClientFromConnectionString(env["AZURE_STORAGE_CONNECTION_STRING"], p.container, opts)
	default:
		return identity(where, told, opts)
	}
}

func shared(where, name, key string, opts *container.ClientOptions) (*container.Client, error) {
	credential, err := azblob.NewSharedKeyCredential(name, key)
	if err != nil {
		return nil, fmt.Errorf("%s and %s: %w", accountName, accountKey, err)
	}
	return container.NewClientWithSharedKeyCredential(where, credential, opts)
}

// identity uses a service principal, a managed identity, or what the default chain finds.
func identity(where string, told map[string]string, opts *container.ClientOptions) (*container.Client, error) {
	core := azcore.ClientOptions{Transport: opts.Transport}
	credential, err := azcore.TokenCredential(nil), error(nil)
	switch {
	case told[clientSecret] != "":
		credential, err = azidentity.NewClientSecretCredential(told[tenantID], told[clientID], told[clientSecret], &azidentity.ClientSecretCredentialOptions{ClientOptions: core})
	case cloud.IsTrue(told[managedIdentity]):
		o := &azidentity.ManagedIdentityCredentialOptions{ClientOptions: core}
		if id := told[clientID]; id != "" {
			o.ID = azidentity.ClientID(id)
		}
		credential, err = azidentity.NewManagedIdentityCredential(o)
	default:
		credential, err = azidentity.NewDefaultAzureCredential(&azidentity.DefaultAzureCredentialOptions{ClientOptions: core})
	}
	if err != nil {
		return nil, err
	}
	return container.NewClient(where, credential, opts)
}

// named returns a property that is given for the account's host, for its name, or for every account.
func (p place) named(told map[string]string, property string) string {
	return cmp.Or(told[property+"."+p.host], told[property+"."+p.account], told[property])
}

// environment returns the variables with credentials, none when they are another account's.
func (p place) environment() map[string]string {
	found := map[string]string{}
	if name := os.Getenv("AZURE_STORAGE_ACCOUNT"); name != "" && name != p.account {
		return found
	}
	for _, name := range []string{"AZURE_STORAGE_KEY", "AZURE_STORAGE_SAS_TOKEN", "AZURE_STORAGE_CONNECTION_STRING"} {
		found[name] = os.Getenv(name)
	}
	return found
}

// signer puts the newest shared access signature on every request of an account that is reached with one.
type signer struct {
	place
	properties cloud.Properties
}

// Do implements policy.Policy.
func (s *signer) Do(r *policy.Request) (*http.Response, error) {
	if r.Raw().Header.Get("Authorization") != "" {
		return r.Next()
	}
	told, err := s.properties(r.Raw().Context())
	if err != nil {
		return nil, &cloud.Error{Kind: cloud.Denied, Err: err}
	}
	token := cmp.Or(s.named(told, sasToken), s.environment()["AZURE_STORAGE_SAS_TOKEN"])
	if query := r.Raw().URL.RawQuery; token != "" && !strings.Contains(query, "sig=") {
		r.Raw().URL.RawQuery = strings.TrimPrefix(query+"&"+strings.TrimPrefix(token, "?"), "&")
	}
	return r.Next()
}

// vendedToken gives out the access token that a catalog vends.
type vendedToken struct{ properties cloud.Properties }

// GetToken implements azcore.TokenCredential. It is asked again soon, for another token may be there then.
func (v *vendedToken) GetToken(ctx context.Context, _ policy.TokenRequestOptions) (azcore.AccessToken, error) {
	const soon = time.Second
	told, err := v.properties(ctx)
	if err != nil {
		return azcore.AccessToken{}, err
	}
	return azcore.AccessToken{Token: told[accessToken], ExpiresOn: time.Now().Add(soon)}, nil
}
