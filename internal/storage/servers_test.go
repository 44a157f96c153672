package storage_test

import (
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/sas"

	"github.com/dvcompactor/dvcompactor/internal/storage"
	"github.com/dvcompactor/dvcompactor/internal/testlake/servers"
)

// foreignServer is a server that other people wrote, with the ways to reach it.
type foreignServer struct {
	name  string
	start func(t *testing.T) []backend
}

func foreignServers() []foreignServer {
	return []foreignServer{
		{"versitygw", func(t *testing.T) []backend {
			server := servers.StartS3(t)
			return []backend{{"S3 by properties", func(t *testing.T) (*storage.Store, string) {
				return open(t, storage.Options{Properties: server.Properties()}), "s3://" + server.Bucket(t) + "/"
			}, limits{folds: true}}}
		}},
		{"fake-gcs-server", gcsBackends},
		{"azurite", azureBackends},
	}
}

func gcsBackends(t *testing.T) []backend {
	server := servers.StartGCS(t)
	return []backend{
		{"GCS by properties", func(t *testing.T) (*storage.Store, string) {
			return open(t, storage.Options{Properties: server.Properties()}), "gs://" + server.Bucket(t) + "/"
		}, limits{}},
		{"GCS with mapping", func(t *testing.T) (*storage.Store, string) {
			return openMounted(t, server.MountURL(server.Bucket(t))), "s3://lake/"
		}, limits{}},
	}
}

func azureBackends(t *testing.T) []backend {
	server := servers.StartAzure(t)
	all := sas.ContainerPermissions{Read: true, Write: true, Create: true, Add: true, Delete: true, List: true}
	return []backend{
		{"abfss with the account's key", func(t *testing.T) (*storage.Store, string) {
			return open(t, storage.Options{Properties: server.Properties()}), server.Base("abfss", server.Container(t))
		}, azureLimits()},
		{"wasbs with a signature", func(t *testing.T) (*storage.Store, string) {
			name := server.Container(t)
			properties := server.Signed(t, name, all, time.Now().Add(time.Hour))
			return open(t, storage.Options{Properties: properties}), server.Base("wasbs", name)
		}, azureLimits()},
		{"azblob with mapping", func(t *testing.T) (*storage.Store, string) {
			return open(t, storage.Options{
				Mounts:     []storage.Mount{{Prefix: "s3://lake/", URL: server.MountURL(server.Container(t))}},
				Properties: server.Properties(),
			}), "s3://lake/"
		}, azureLimits()},
	}
}
