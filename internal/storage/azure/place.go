package azure

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"

	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/container"
	"gocloud.dev/blob"
	"gocloud.dev/blob/azureblob"

	"github.com/dvcompactor/dvcompactor/internal/storage/cloud"
)

// Properties of a table's FileIO that say where the store is.
const (
	endpoint = "adls.endpoint" // a domain, or a host with a port
	protocol = "adls.protocol"
)

// place is where a container is.
type place struct {
	account, container string
	host               string // as in locations: account.dfs.core.windows.net
	service            string // the URL of the account's blob service
}

// Open returns the bucket of the authority of a location: container@account.dfs.core.windows.net. No request is sent.
func Open(ctx context.Context, authority string, properties cloud.Properties) (*blob.Bucket, error) {
	told, err := properties(ctx)
	if err != nil {
		return nil, err
	}
	p, err := parseAuthority(authority, told)
	if err != nil {
		return nil, err
	}
	return open(p, told, properties)
}

func parseAuthority(authority string, told map[string]string) (place, error) {
	name, host, found := strings.Cut(authority, "@")
	account, domain, dotted := strings.Cut(host, ".")
	if !found || name == "" || account == "" {
		return place{}, fmt.Errorf("%q names no container of an account; write abfss://container@account.dfs.core.windows.net/key", authority)
	}
	if told[endpoint] != "" {
		domain = told[endpoint]
	} else if !dotted {
		domain = "" // the public cloud's
	}
	service, err := azureblob.NewServiceURL(&azureblob.ServiceURLOptions{
		AccountName: account, Protocol: told[protocol],
		StorageDomain: cmp.Or(replaceFirst(domain, "dfs.", "blob."), "blob.core.windows.net"), // both names are of the same objects
	})
	return place{account: account, container: name, host: host, service: string(service)}, err
}

func replaceFirst(text, prefix, by string) string {
	if rest, found := strings.CutPrefix(text, prefix); found {
		return by + rest
	}
	return text
}

// OpenURL returns the bucket of a URL like azblob://container?storage_account=name, whose parameters are those of
// gocloud's azureblob: domain, protocol, cdn, localemu, storage_account, and in the environment AZURE_STORAGE_ACCOUNT
// and the like.
func OpenURL(_ context.Context, u *url.URL, properties map[string]string) (*blob.Bucket, error) {
	defaults := azureblob.NewDefaultServiceURLOptions()
	defaults.SASToken = "" // credentials are found below
	account := cmp.Or(u.Query().Get("storage_account"), defaults.AccountName)
	var p place
	opener := azureblob.URLOpener{
		ServiceURLOptions: *defaults,
		MakeClient: func(service azureblob.ServiceURL, name azureblob.ContainerName) (*container.Client, error) {
			p = place{account: account, container: string(name), host: account + ".dfs.core.windows.net", service: string(service)}
			return nil, errOnlyParsed
		},
	}
	if _, err := opener.OpenBucketURL(context.Background(), u); !errors.Is(err, errOnlyParsed) {
		return nil, err
	}
	return open(p, properties, cloud.Fixed(properties))
}

// errOnlyParsed ends the opening of a URL whose parts are known.
var errOnlyParsed = errors.New("parsed")
