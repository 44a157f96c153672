// Package cloud is what the buckets on Google Cloud Storage and Azure tell package storage about a failed request.
//
// Their clients have errors of many shapes, and the words in them mean something only on that store. So each bucket
// judges its own and says one of few kinds; package storage makes of these what callers test for.
package cloud

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"gocloud.dev/gcerrors"
)

// Kind is what a refused or failed request means.
type Kind int

// The kinds.
const (
	// Other is final and none of the others, for instance a missing bucket.
	Other Kind = iota
	// Missing tells that there is no such object.
	Missing
	// Exists tells that a condition of a write does not hold.
	Exists
	// Denied tells that the credentials do not allow the request, or that there are none.
	Denied
	// Stale is Denied because of the credentials and not of what they allow: others may do.
	Stale
	// BeyondEnd tells that the object ends before the range begins.
	BeyondEnd
	// WrongReply tells that the store sent something else than it was asked for.
	WrongReply
	// Invalid tells that the store does not take the key.
	Invalid
	// Busy may pass: a throttle, a timeout or a fault of the store.
	Busy
)

// Error is a request that a store refused or failed to answer.
type Error struct {
	Kind Kind
	// Status is the HTTP status; 0 when there was no reply.
	Status int
	// Code is the store's word for the reason, for instance "BlobAlreadyExists"; may be empty.
	Code string
	// Header is the header of the reply; may be nil.
	Header http.Header
	// Err is the error of the store's client.
	Err error
}

// Error implements error. It leaves out the rest of the client's text when there is a status and a word: that is a
// page of it.
func (e *Error) Error() string {
	switch {
	case e.Status == 0:
		return e.Err.Error()
	case e.Code == "":
		return fmt.Sprintf("status %d %s", e.Status, http.StatusText(e.Status))
	default:
		return fmt.Sprintf("status %d %s", e.Status, e.Code)
	}
}

// Unwrap returns the error of the store's client.
func (e *Error) Unwrap() error { return e.Err }

// Code is the portable code of an error, for the driver of a bucket.
func Code(err error) gcerrors.ErrorCode {
	var e *Error
	if !errors.As(err, &e) {
		return gcerrors.Unknown
	}
	switch e.Kind {
	case Missing:
		return gcerrors.NotFound
	case Exists:
		return gcerrors.FailedPrecondition
	case Denied, Stale:
		return gcerrors.PermissionDenied
	case Invalid:
		return gcerrors.InvalidArgument
	case Busy:
		return gcerrors.ResourceExhausted
	default:
		return gcerrors.Unknown
	}
}

// ByStatus is the kind that an HTTP status means on every store.
func ByStatus(status int) Kind {
	switch {
	case status == http.StatusUnauthorized:
		return Stale
	case status == http.StatusForbidden:
		return Denied
	case status == http.StatusNotFound:
		return Missing
	case status == http.StatusPreconditionFailed:
		return Exists
	case status == http.StatusRequestedRangeNotSatisfiable:
		return BeyondEnd
	case status == http.StatusRequestTimeout, status == http.StatusTooManyRequests, status >= http.StatusInternalServerError:
		return Busy
	default:
		return Other
	}
}

// Properties returns the FileIO properties that say how a store is reached and with which credentials. It is called
// before every request that needs credentials, so that those which a catalog vends can be renewed meanwhile.
type Properties func(ctx context.Context) (map[string]string, error)

// Fixed returns properties that stay.
func Fixed(properties map[string]string) Properties {
	return func(context.Context) (map[string]string, error) { return properties, nil }
}

// Whole is set by the method As of a bucket that writes an object with one request when it gets all of it at once,
// through Upload.
type Whole bool

// IsTrue tells whether a property is there and true.
func IsTrue(property string) bool { return strings.EqualFold(property, "true") }

// OwnTransport returns a transport whose connections nobody else uses, so that they can be closed with a bucket.
func OwnTransport() *http.Transport {
	const connections = 64 // to one host: as many as requests are sent at once
	t, ok := http.DefaultTransport.(*http.Transport)
	if !ok { // the program put something of its own there
		t = &http.Transport{Proxy: http.ProxyFromEnvironment}
	}
	t = t.Clone()
	t.MaxIdleConnsPerHost = connections
	return t
}
