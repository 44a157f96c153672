package gcs

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"strings"

	"cloud.google.com/go/storage"
	"gocloud.dev/blob"
	"google.golang.org/api/option"

	"github.com/dvcompactor/dvcompactor/internal/storage/cloud"
)

// Properties of a table's FileIO.
const (
	noAuth      = "gcs.no-auth"
	oauthToken  = "gcs.oauth2.token"
	jsonKey     = "gcs.jsonkey"
	keyPath     = "gcs.keypath"
	credType    = "gcs.credtype"
	serviceHost = "gcs.service.host"
	endpointURL = "gcs.endpoint" // what iceberg-go calls the service host
	userProject = "gcs.user-project"
)

// emulator is the environment variable with the address of an emulator.
const emulator = "STORAGE_EMULATOR_HOST"

// Open returns the bucket of a name. No request is sent.
func Open(ctx context.Context, name string, properties cloud.Properties) (*blob.Bucket, error) {
	told, err := properties(ctx)
	if err != nil {
		return nil, err
	}
	transport := cloud.OwnTransport()
	opts := []option.ClientOption{
		option.WithoutAuthentication(), // the transport adds it, so that credentials can change
		option.WithHTTPClient(&http.Client{Transport: single{newAuthorizer(transport, properties)}}),
		storage.WithJSONReads(), // the client makes of a missing bucket a missing object otherwise
	}
	if e := endpoint(told); e != "" {
		opts = append(opts, option.WithEndpoint(e))
	}
	client, err := storage.NewClient(context.WithoutCancel(ctx), opts...)
	if err != nil {
		return nil, fmt.Errorf("client of Google Cloud Storage: %w", err)
	}
	handle := client.Bucket(name)
	if project := told[userProject]; project != "" {
		handle = handle.UserProject(project)
	}
	return blob.NewBucket(&bucket{client: client, handle: handle, closeIdle: transport.CloseIdleConnections}), nil
}

// OpenURL returns the bucket of a URL like gs://bucket?anonymous=true&endpoint=http://127.0.0.1:4443. properties are
// used as far as the URL says nothing else.
func OpenURL(ctx context.Context, u *url.URL, properties map[string]string) (*blob.Bucket, error) {
	told := make(map[string]string, len(properties)+2)
	for name, value := range properties {
		told[name] = value
	}
	query := u.Query()
	for name := range query {
		switch name {
		case "anonymous":
			told[noAuth] = query.Get(name)
		case "endpoint":
			told[serviceHost] = query.Get(name)
		default:
			return nil, fmt.Errorf("unknown query parameter %q; known are anonymous and endpoint", name)
		}
	}
	return Open(ctx, u.Host, cloud.Fixed(told))
}

// endpoint returns the base of all request URLs, or "" for Google's own. Properties give it with or without the path.
func endpoint(properties map[string]string) string {
	host := properties[serviceHost]
	if host == "" {
		host = properties[endpointURL]
	}
	if host == "" {
		host = os.Getenv(emulator)
	}
	if host == "" {
		return ""
	}
	if !strings.Contains(host, "://") {
		host = "http://" + host
	}
	host = strings.TrimRight(host, "/")
	if strings.HasSuffix(host, "/storage/v1") {
		return host + "/"
	}
	return host + "/storage/v1/"
}
