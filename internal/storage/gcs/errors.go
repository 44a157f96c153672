package gcs

import (
	"errors"
	"net/http"
	"strings"

	"cloud.google.com/go/storage"
	"google.golang.org/api/googleapi"

	"github.com/dvcompactor/dvcompactor/internal/storage/cloud"
)

// judge says what an error of the client means.
func judge(err error) error {
	if cloud.Judged(err) {
		return err
	}
	var reply *googleapi.Error
	switch {
	case errors.As(err, &reply):
		return &cloud.Error{Kind: kind(reply), Status: reply.Code, Code: reason(reply), Header: reply.Header, Err: err}
	case errors.Is(err, storage.ErrBucketNotExist):
		return &cloud.Error{Kind: cloud.Other, Status: http.StatusNotFound, Code: "noSuchBucket", Err: err}
	case errors.Is(err, storage.ErrObjectNotExist):
		return &cloud.Error{Kind: cloud.Missing, Status: http.StatusNotFound, Code: "noSuchObject", Err: err}
	default:
		return err
	}
}

func kind(reply *googleapi.Error) cloud.Kind {
	switch k := cloud.ByStatus(reply.Code); {
	case k == cloud.Missing && noBucket(reply):
		return cloud.Other
	case reply.Code == http.StatusBadRequest && reason(reply) == "invalid": // what it says of a name
		return cloud.Invalid
	default:
		return k
	}
}

// noBucket tells whether the bucket itself is missing. The reply has no word of its own for it in the JSON interface.
func noBucket(reply *googleapi.Error) bool {
	return strings.Contains(reply.Body+reply.Message, "bucket does not exist") || strings.Contains(reply.Body, "NoSuchBucket")
}

// reason is the store's word for a refusal: in the JSON interface that of the first error, in the XML interface the code.
func reason(reply *googleapi.Error) string {
	if len(reply.Errors) > 0 && reply.Errors[0].Reason != "" {
		return reply.Errors[0].Reason
	}
	if _, rest, found := strings.Cut(reply.Body, "<Code>"); found {
		code, _, _ := strings.Cut(rest, "</Code>")
		return code
	}
	return ""
}
