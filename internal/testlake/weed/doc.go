// Package weed runs the program on SeaweedFS, whose S3 and Iceberg REST catalog were written by people who do not know
// it, and lets PyIceberg judge the rows. Only its tests are run:
//
//	DVC_STORE_SERVERS=dir DVC_BINARY=dvcompactor DVC_PYICEBERG=venv/bin/python go test ./internal/testlake/weed
//
// Without DVC_STORE_SERVERS they are skipped. The other two are then needed; .ci/run sets all three.
package weed
