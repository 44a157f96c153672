package storage

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"os"
	"slices"

	"github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"
	"gocloud.dev/gcerrors"

	"github.com/dvcompactor/dvcompactor/internal/storage/cloud"
	"github.com/dvcompactor/dvcompactor/internal/storage/localblob"
)

// classify gives the error of a bucket or an S3 client its kind.
func classify(err error) error {
	if err == nil || known(err) {
		return err
	}
	if kind := kindOf(err); kind != nil {
		return &kindError{kind: kind, cause: err}
	}
	return err
}

// known tells whether err has a kind already or is about the context.
func known(err error) bool {
	var k *kindError
	return errors.As(err, &k) || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) ||
		errors.Is(err, ErrBeyondEnd) || errors.Is(err, ErrWrongReply)
}

// kindOf returns nil for faults. Errors of the AWS SDK are judged here and not by their gocloud code, because s3blob
// takes any error with "301" in its text, a port number for instance, for a missing bucket.
func kindOf(err error) error {
	var op *smithy.OperationError
	if errors.As(err, &op) {
		return awsKind(op)
	}
	var refused *cloud.Error
	if errors.As(err, &refused) {
		return cloudKind(refused.Kind)
	}
	if errors.Is(err, localblob.ErrInvalidKey) {
		return ErrInvalidLocation
	}
	switch gcerrors.Code(err) {
	case gcerrors.NotFound:
		return fs.ErrNotExist
	case gcerrors.FailedPrecondition, gcerrors.AlreadyExists:
		if bare(err) { // the only such error without a cause: the bucket was closed
			return fs.ErrClosed
		}
		return ErrExists
	case gcerrors.PermissionDenied:
		return ErrPermission
	case gcerrors.InvalidArgument:
		return ErrInvalidLocation
	default:
		return nil
	}
}

// cloudKind is what the bucket of another cloud store made of a reply.
func cloudKind(kind cloud.Kind) error {
	switch kind {
	case cloud.Missing:
		return fs.ErrNotExist
	case cloud.Exists:
		return ErrExists
	case cloud.Denied, cloud.Stale:
		return ErrPermission
	case cloud.BeyondEnd:
		return ErrBeyondEnd
	case cloud.WrongReply:
		return ErrWrongReply
	case cloud.Invalid:
		return ErrInvalidLocation
	default: // a fault, passing or not
		return nil
	}
}

// bare tells whether err is an error of the portable layer itself, without a cause from the driver.
func bare(err error) bool {
	parent, ok := err.(interface{ Unwrap() []error })
	return ok && parent.Unwrap()[0] == nil
}

// awsKind judges by error code, then by status: a HEAD has no body and so no code.
func awsKind(op *smithy.OperationError) error {
	if nestedOperation(op) {
		return ErrPermission
	}
	var api smithy.APIError
	code := ""
	if errors.As(op, &api) {
		code = api.ErrorCode()
	}
	switch code {
	case "NoSuchKey", "NotFound":
		return fs.ErrNotExist
	case "NoSuchBucket", "NoSuchUpload":
		return nil // neither says that an object is missing
	case "PreconditionFailed":
		return ErrExists
	case "InvalidRange":
		return ErrBeyondEnd
	case "AccessDenied", "Forbidden", "InvalidAccessKeyId", "SignatureDoesNotMatch", "ExpiredToken",
		"ExpiredTokenException", "InvalidToken", "TokenRefreshRequired":
		return ErrPermission
	}
	switch httpStatus(op) {
	case http.StatusNotFound:
		return fs.ErrNotExist
	case http.StatusUnauthorized, http.StatusForbidden:
		return ErrPermission
	case http.StatusPreconditionFailed:
		return ErrExists
	case http.StatusRequestedRangeNotSatisfiable:
		return ErrBeyondEnd
	}
	return nil
}

// nestedOperation tells whether the request was never sent because another one, which was to bring the credentials,
// failed. The SDK has repeated that one already.
func nestedOperation(op *smithy.OperationError) bool {
	var inner *smithy.OperationError
	return errors.As(op.Unwrap(), &inner)
}

func httpStatus(err error) int {
	var re *smithyhttp.ResponseError
	if errors.As(err, &re) && re.Response != nil {
		return re.HTTPStatusCode()
	}
	return 0
}

// StaleCredentials tells whether a store refused a request because of its credentials and not of what they allow. A HEAD
// of S3 has no body that would tell these apart.
func StaleCredentials(err error) bool {
	var refused *cloud.Error
	if errors.As(err, &refused) {
		return refused.Kind == cloud.Stale
	}
	var api smithy.APIError
	if !errors.As(err, &api) {
		return false
	}
	switch api.ErrorCode() {
	case "ExpiredToken", "ExpiredTokenException", "InvalidAccessKeyId", "InvalidToken", "TokenRefreshRequired":
		return true
	case "Forbidden", "BadRequest":
		var op *smithy.OperationError
		return errors.As(err, &op) && op.Operation() == "HeadObject"
	}
	return false
}

// Transient tells whether err may pass when the operation is repeated later: a fault of the store or the network, not a
// fact about the object, the permissions or the caller.
func Transient(err error) bool {
	switch {
	case err == nil, errors.Is(err, context.Canceled):
		return false
	case errors.Is(err, ErrWrongReply):
		return true
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, ErrExists), errors.Is(err, ErrPermission),
		errors.Is(err, ErrBeyondEnd), errors.Is(err, ErrInvalidLocation), errors.Is(err, ErrUnknownScheme),
		errors.Is(err, ErrNoVersions), errors.Is(err, fs.ErrClosed):
		return false
	}
	var op *smithy.OperationError
	if errors.As(err, &op) {
		return transientAWS(op)
	}
	var refused *cloud.Error
	if errors.As(err, &refused) {
		return refused.Kind == cloud.Busy
	}
	if isFile(err) { // before isNetwork, because the numbers of system errors are net.Errors
		return false
	}
	if isNetwork(err) {
		return true
	}
	switch gcerrors.Code(err) {
	case gcerrors.ResourceExhausted, gcerrors.Internal, gcerrors.DeadlineExceeded, gcerrors.Unknown:
		return true
	default:
		return false
	}
}

func transientAWS(op *smithy.OperationError) bool {
	var api smithy.APIError
	if errors.As(op, &api) && slices.Contains(passingCodes(), api.ErrorCode()) {
		return true
	}
	switch status := httpStatus(op); status {
	case 0:
		var send *smithyhttp.RequestSendError
		return errors.As(op, &send) || isNetwork(op)
	case http.StatusRequestTimeout, http.StatusTooManyRequests:
		return true
	default:
		// A success whose body could not be understood is a broken transfer too.
		return status >= http.StatusInternalServerError || status < http.StatusMultipleChoices
	}
}

// passingCodes are the S3 error codes below status 500 that ask for another attempt.
func passingCodes() []string {
	return []string{
		"ConditionalRequestConflict", "OperationAborted", "RequestTimeout", "RequestTimeoutException", "SlowDown",
		"Throttling", "ThrottlingException", "TooManyRequestsException", "BandwidthLimitExceeded", "InternalError",
	}
}

func isNetwork(err error) bool {
	var ne net.Error
	return errors.As(err, &ne) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF)
}

func isFile(err error) bool {
	var pe *fs.PathError
	var le *os.LinkError
	return errors.As(err, &pe) || errors.As(err, &le)
}

// cut is the error of a body that ended before its announced length.
func cut(got, want int64) error {
	return fmt.Errorf("%w: reply ended after %d of %d bytes", io.ErrUnexpectedEOF, got, want)
}
