package azure

import (
	"errors"
	"net/http"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/bloberror"

	"github.com/dvcompactor/dvcompactor/internal/storage/cloud"
)

// judge says what an error of the client means.
func judge(err error) error {
	if cloud.Judged(err) {
		return err
	}
	var reply *azcore.ResponseError
	if errors.As(err, &reply) {
		return &cloud.Error{Kind: kind(reply.StatusCode, bloberror.Code(reply.ErrorCode)), Status: reply.StatusCode, Code: reply.ErrorCode, Header: header(reply), Err: err}
	}
	var final interface{ NonRetriable() } // the client's mark on what no repetition changes: there are no credentials
	if errors.As(err, &final) {
		return &cloud.Error{Kind: cloud.Denied, Err: err}
	}
	return err
}

func header(reply *azcore.ResponseError) http.Header {
	if reply.RawResponse == nil {
		return nil
	}
	return reply.RawResponse.Header
}

// kind judges by the word where the status alone would mean something else.
func kind(status int, code bloberror.Code) cloud.Kind {
	switch code {
	case bloberror.BlobAlreadyExists:
		return cloud.Exists
	case bloberror.ContainerNotFound, bloberror.ContainerBeingDeleted, bloberror.ContainerDisabled:
		return cloud.Other
	case bloberror.AuthenticationFailed: // also of a signature or token that has expired
		return cloud.Stale
	case bloberror.BlobImmutableDueToPolicy, bloberror.LeaseIDMissing, bloberror.AuthorizationFailure:
		return cloud.Denied
	case bloberror.InvalidResourceName, bloberror.InvalidURI:
		return cloud.Invalid
	}
	return cloud.ByStatus(status)
}
