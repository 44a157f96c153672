package cloud

import (
	"context"
	"errors"
	"io"

	"gocloud.dev/blob/driver"
	"gocloud.dev/gcerrors"
)

var errUnsupported = errors.New("this operation is not supported on this store")

// Driver is the part of driver.Bucket that is the same on every store whose bucket judges its errors.
type Driver struct{}

// ErrorAs implements driver.Bucket.
func (Driver) ErrorAs(err error, target any) bool { return errors.As(err, target) }

// ErrorCode implements driver.Bucket.
func (Driver) ErrorCode(err error) gcerrors.ErrorCode {
	if errors.Is(err, errUnsupported) {
		return gcerrors.Unimplemented
	}
	return Code(err)
}

// Copy implements driver.Bucket; it is not supported.
func (Driver) Copy(context.Context, string, string, *driver.CopyOptions) error {
	return errUnsupported
}

// SignedURL implements driver.Bucket; it is not supported.
func (Driver) SignedURL(context.Context, string, *driver.SignedURLOptions) (string, error) {
	return "", errUnsupported
}

// BeforeList refuses listings with a delimiter, which nobody asks for, and calls the hook of the others.
func BeforeList(opts *driver.ListOptions) error {
	if opts.Delimiter != "" {
		return errUnsupported
	}
	if opts.BeforeList == nil {
		return nil
	}
	return opts.BeforeList(NoParameters)
}

// NoParameters answers a hook that asks for the parameters of a request.
func NoParameters(any) bool { return false }

// Judged tells whether nothing more is to be said of an error: it is nil or judged already, or says itself what it means.
func Judged(err error) bool {
	var judged *Error
	return err == nil || errors.Is(err, io.EOF) || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) || errors.As(err, &judged)
}
