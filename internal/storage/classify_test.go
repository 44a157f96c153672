package storage

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/url"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"gocloud.dev/blob"
	"gocloud.dev/blob/driver"
	"gocloud.dev/gcerrors"
)

// brokenDriver is a bucket that only fails.
type brokenDriver struct {
	driver.Bucket
	err  error
	code gcerrors.ErrorCode
}

func (d *brokenDriver) As(any) bool                        { return false }
func (d *brokenDriver) ErrorCode(error) gcerrors.ErrorCode { return d.code }
func (d *brokenDriver) Close() error                       { return nil }

func (d *brokenDriver) NewRangeReader(context.Context, string, int64, int64, *driver.ReaderOptions) (driver.Reader, error) {
	return nil, d.err
}

func (d *brokenDriver) NewTypedWriter(context.Context, string, string, *driver.WriterOptions) (driver.Writer, error) {
	return nil, d.err
}

func (d *brokenDriver) ListPaged(context.Context, *driver.ListOptions) (*driver.ListPage, error) {
	return nil, d.err
}

func TestErrorsOfOtherStores(t *testing.T) {
	t.Parallel()
	cause := errors.New("the cause")
	tests := []struct {
		name     string
		err      error
		code     gcerrors.ErrorCode
		want     error
		attempts int64
	}{
		{"not found", cause, gcerrors.NotFound, fs.ErrNotExist, 1},
		{"a precondition", cause, gcerrors.FailedPrecondition, ErrExists, 1},
		{"permission", cause, gcerrors.PermissionDenied, ErrPermission, 1},
		{"an argument", cause, gcerrors.InvalidArgument, ErrInvalidLocation, 1},
		{"not implemented", cause, gcerrors.Unimplemented, cause, 1},
		{"exhausted", cause, gcerrors.ResourceExhausted, cause, 3},
		{"internal", cause, gcerrors.Internal, cause, 3},
		{"unknown", cause, gcerrors.Unknown, cause, 3},
		{"a network error", &net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}, gcerrors.Unimplemented, syscall.ECONNREFUSED, 3},
		{"a broken body", fmt.Errorf("body: %w", io.ErrUnexpectedEOF), gcerrors.Unimplemented, io.ErrUnexpectedEOF, 3},
		{"a full disk", &fs.PathError{Op: "write", Err: syscall.ENOSPC}, gcerrors.Unknown, syscall.ENOSPC, 1},
		{"a failed rename", &os.LinkError{Op: "rename", Err: syscall.EXDEV}, gcerrors.Unknown, syscall.EXDEV, 1},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			b := blob.NewBucket(&brokenDriver{err: tt.err, code: tt.code})
			t.Cleanup(func() { _ = b.Close() })
			s, err := Open(t.Context(), Options{
				Fallback: func(context.Context, string) (*blob.Bucket, error) { return b, nil },
				Retry:    RetryOptions{Attempts: 3, BaseDelay: time.Microsecond},
			})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = s.Close() })
			_, readErr := s.ReadRange(t.Context(), "x://b/k", 0, 1)
			writeErr := s.WriteFile(t.Context(), "x://b/k", nil)
			var listErr error
			for _, listErr = range s.List(t.Context(), "x://b/") {
			}
			for _, err := range []error{readErr, writeErr, listErr} {
				if !errors.Is(err, tt.want) || Transient(err) != (tt.attempts > 1) {
					t.Errorf("got %v, transient %t", err, Transient(err))
				}
			}
			got := s.Stats()
			if got.RangeGets != tt.attempts || got.Puts != tt.attempts || got.Lists != tt.attempts {
				t.Errorf("requests: %+v, want %d of each", got, tt.attempts)
			}
		})
	}
}

func TestErrorText(t *testing.T) {
	t.Parallel()
	signed := &url.Error{Op: "Get", URL: "https://h/k?sig=hunter2", Err: errors.New("refused")}
	tests := []struct {
		name string
		err  *Error
		want string
	}{
		{"a missing object needs no details", &Error{Op: OpGet, Location: "s3://b/k", Err: &kindError{fs.ErrNotExist, errors.New("404 and so on")}}, "get s3://b/k: object does not exist"},
		{"a range is told", &Error{Op: OpGetRange, Location: "s3://b/k", Offset: 4, Length: 16, Err: ErrBeyondEnd}, "get_range s3://b/k [offset 4, length 16]: object ends before the range does"},
		{"a kind comes before its cause", &Error{Op: OpPut, Location: "/k", Err: &kindError{ErrPermission, errors.New("EACCES")}}, "put /k: access denied: EACCES"},
		{"signatures are cut off", &Error{Op: OpGet, Location: "x://b/k", Err: fmt.Errorf("no: %w", signed)}, `get x://b/k: no: Get "https://h/k": refused`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if got := tt.err.Error(); got != tt.want {
				t.Errorf("got %s, want %s", got, tt.want)
			}
		})
	}
}

func TestContentRange(t *testing.T) {
	t.Parallel()
	good := map[string]replyRange{
		"bytes 10-14/27": {10, 5, 27},
		"bytes 0-0/1":    {0, 1, 1},
		"bytes 10-14/*":  {10, 5, unknownSize},
	}
	for header, want := range good {
		if got, err := parseContentRange(header); got != want || err != nil {
			t.Errorf("%q: got %+v, %v", header, got, err)
		}
	}
	for _, header := range strings.Split("|bytes|bytes 1|bytes 1-2|bytes 2-1/5|bytes -1-2/5|bytes 1-5/5|bytes */5|items 1-2/5|bytes a-b/c", "|") {
		if got, err := parseContentRange(header); !errors.Is(err, ErrWrongReply) {
			t.Errorf("%q: got %+v, %v", header, got, err)
		}
	}
}

func TestReplyOfUnknownSize(t *testing.T) {
	t.Parallel()
	reply := replyRange{offset: 10, length: 5, size: unknownSize}
	if _, err := checkRange(reply, 5, 10, 5); err != nil {
		t.Errorf("the range that was asked for: %v", err)
	}
	for name, err := range map[string]error{
		"a shorter range":             second(checkRange(reply, 5, 10, 6)),
		"the rest of the object":      second(checkRange(reply, 5, 10, -1)),
		"another length of the body":  second(checkRange(reply, 4, 10, 5)),
		"a range for a whole object":  second(checkRange(replyRange{0, 5, 5}, 5, 0, -1)),
		"a whole object for a range":  second(checkWhole(100, 0, 10)),
		"a whole object for its rest": second(checkWhole(100, 10, -1)),
	} {
		if !errors.Is(err, ErrWrongReply) {
			t.Errorf("%s: got %v", name, err)
		}
	}
	if got, err := checkWhole(8, 0, 10); err != nil || got.length != 8 {
		t.Errorf("all there is: %+v, %v", got, err)
	}
}

func second(_ replyRange, err error) error { return err }
