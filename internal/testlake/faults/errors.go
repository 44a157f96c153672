package faults

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"syscall"

	"github.com/apache/iceberg-go/catalog/rest"
	"github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"github.com/dvcompactor/dvcompactor/catalog"
)

var errOnPurpose = errors.New("broken on purpose")

// s3Status returns the HTTP status and the S3 error code of an answer of a store.
func s3Status(a answer) (status int, code string) {
	switch a {
	case missing:
		return http.StatusNotFound, "NoSuchKey"
	case notMatched:
		return http.StatusPreconditionFailed, "PreconditionFailed"
	case tooMany:
		return http.StatusTooManyRequests, "TooManyRequestsException"
	case unavailable:
		return http.StatusServiceUnavailable, "SlowDown"
	default:
		return http.StatusForbidden, "AccessDenied"
	}
}

// storeError returns the error that the AWS SDK has for an answer.
func storeError(op string, a answer) error {
	if a == reset {
		return &smithy.OperationError{ServiceID: "S3", OperationName: s3Operation(op), Err: &smithyhttp.RequestSendError{Err: connectionReset()}}
	}
	status, code := s3Status(a)
	return &smithy.OperationError{ServiceID: "S3", OperationName: s3Operation(op), Err: &smithyhttp.ResponseError{
		Response: &smithyhttp.Response{Response: &http.Response{StatusCode: status, Header: http.Header{}}},
		Err:      &smithy.GenericAPIError{Code: code, Message: errOnPurpose.Error()},
	}}
}

func s3Operation(op string) string {
	switch op {
	case opPut:
		return "PutObject"
	case opDelete:
		return "DeleteObject"
	case opHead:
		return "HeadObject"
	case opList:
		return "ListObjectsV2"
	default:
		return "GetObject"
	}
}

func connectionReset() error {
	return &net.OpError{Op: "read", Net: "tcp", Err: os.NewSyscallError("read", syscall.ECONNRESET)}
}

// loadError returns the error that a REST catalog's client has for an answer to a load.
func loadError(name string, a answer) error {
	err := connectionReset()
	switch a {
	case denied:
		err = rest.ErrForbidden
	case tooMany:
		err = rest.ErrRESTError
	case unavailable:
		err = rest.ErrServiceUnavailable
	}
	return fmt.Errorf("%s: %w: %w", name, err, errOnPurpose)
}

// commitError returns the error of a commit for an answer, with the outcome that the catalogs give it.
func commitError(table string, a answer) error {
	outcome := catalog.ErrUnknown
	switch a {
	case denied, refused:
		outcome = catalog.ErrRefused
	case conflict, tooMany:
		outcome = catalog.ErrConflict
	}
	return &catalog.CommitError{Outcome: outcome, Table: table, Err: fmt.Errorf("%s: %w", a, errOnPurpose)}
}
