// Package servers starts the servers of object stores that other people wrote, for tests: versitygw for S3,
// fake-gcs-server for Google Cloud Storage, Azurite for Azure. Each listens on loopback only and ends with its test.
//
// The programs are looked for in the folder that DVC_STORE_SERVERS names. Without it tests that need one are skipped;
// with it a missing program fails them. .ci/run installs them and sets it.
package servers
