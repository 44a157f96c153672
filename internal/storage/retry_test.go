package storage

import (
	"context"
	"errors"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"
	"gocloud.dev/blob"
	"gocloud.dev/gcerrors"
)

func TestThePauseThatAServerAsksFor(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	tests := []struct {
		name   string
		status int
		header string
		want   time.Duration
	}{
		{"seconds", 503, "7", 7 * time.Second},
		{"seconds of a throttle", 429, " 7 ", 7 * time.Second},
		{"a date", 503, now.Add(9 * time.Second).Format(http.TimeFormat), 9 * time.Second},
		{"a date of another time zone's format", 503, now.Add(9 * time.Second).Format(time.RFC850), 9 * time.Second},
		{"a date that has passed", 503, now.Add(-time.Hour).Format(http.TimeFormat), 0},
		{"a day", 503, "86400", time.Minute},
		{"more than a number holds", 503, "99999999999999999999999", time.Minute},
		{"a date far away", 429, now.AddDate(80, 0, 0).Format(http.TimeFormat), time.Minute},
		{"nothing", 503, "", 0},
		{"a negative number", 503, "-5", 0},
		{"words", 503, "soon", 0},
		{"of a status that means something else", 500, "7", 0},
		{"of a redirect", 301, "7", 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			header := http.Header{"Retry-After": {tt.header}}
			if got := (RetryOptions{}).Asked(tt.status, header, now); got != tt.want {
				t.Errorf("got %v, want %v", got, tt.want)
			}
		})
	}
}

// throttled is what the AWS SDK makes of a 503 with a Retry-After.
func throttled(seconds string) error {
	reply := &http.Response{StatusCode: http.StatusServiceUnavailable, Header: http.Header{"Retry-After": {seconds}}}
	return &smithy.OperationError{ServiceID: "S3", OperationName: "GetObject", Err: &smithyhttp.ResponseError{
		Response: &smithyhttp.Response{Response: reply}, Err: errors.New("slow down"),
	}}
}

// faultyStore is a store whose bucket fails with an error.
func faultyStore(t *testing.T, err error, retry RetryOptions) *Store {
	b := blob.NewBucket(&brokenDriver{err: err, code: gcerrors.Unknown})
	t.Cleanup(func() { _ = b.Close() })
	s, err := Open(t.Context(), Options{Fallback: func(context.Context, string) (*blob.Bucket, error) { return b, nil }, Retry: retry})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// The clock of synctest stands still but for sleepers, so the pauses are exact.
func TestAStoreThatAsksForAPauseGetsItWithinABound(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, seconds string
		least, most   time.Duration // of three pauses
	}{
		{"no wish", "", 3 * time.Second / 2, 3 * time.Second},
		{"seconds", "10", 30*time.Second + 3*time.Second/2, 33 * time.Second},
		{"a day", "86400", 2*time.Minute + 3*time.Second/2, 2*time.Minute + 3*time.Second},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := faultyStore(t, throttled(tt.seconds), RetryOptions{BaseDelay: time.Second, MaxDelay: time.Second, MaxAsked: 40 * time.Second})
				start := time.Now()
				_, err := s.ReadRange(t.Context(), "x://b/k", 0, 1)
				if took := time.Since(start); err == nil || took < tt.least || took > tt.most {
					t.Errorf("after %v: %v, want between %v and %v", took, err, tt.least, tt.most)
				}
				if got := s.Stats(); got.RangeGets != 4 || got.Retries != 3 {
					t.Errorf("stats: %+v", got)
				}
			})
		})
	}
}

func TestTheEndOfTheContextEndsAPauseThatAStoreAskedFor(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := faultyStore(t, throttled("60"), RetryOptions{})
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		start := time.Now()
		_, err := s.ReadFile(ctx, "x://b/k")
		if took := time.Since(start); !errors.Is(err, context.DeadlineExceeded) || took != time.Second {
			t.Errorf("after %v: %v", took, err)
		}
	})
}

// refused is what the AWS SDK makes of an answer with an error code.
func refused(operation, code string) error {
	return &smithy.OperationError{ServiceID: "S3", OperationName: operation, Err: &smithy.GenericAPIError{Code: code}}
}

func TestCredentialsAreRenewedOnceWhenTheStoreNoLongerTakesThem(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name     string
		err      error
		failing  bool
		renewals int
		requests int64
	}{
		{"an expired token", refused("GetObject", "ExpiredToken"), false, 1, 2},
		{"a key that is gone", refused("GetObject", "InvalidAccessKeyId"), false, 1, 2},
		{"a HEAD without a body", refused("HeadObject", "Forbidden"), false, 1, 2},
		{"what is not allowed", refused("GetObject", "AccessDenied"), false, 0, 1},
		{"what is not there", refused("GetObject", "NoSuchKey"), false, 0, 1},
		{"a catalog that has no others", refused("GetObject", "ExpiredToken"), true, 1, 1},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := faultyStore(t, tt.err, RetryOptions{BaseDelay: time.Microsecond})
			renewals, down := 0, errors.New("the catalog is down")
			s.opts.Renewal = func() func(context.Context) error {
				return func(context.Context) error {
					renewals++
					if tt.failing {
						return down
					}
					return nil
				}
			}
			_, err := s.ReadFile(t.Context(), "x://b/k")
			if err == nil || errors.Is(err, down) != tt.failing {
				t.Errorf("got %v", err)
			}
			if got := s.Stats().Gets; renewals != tt.renewals || got != tt.requests {
				t.Errorf("%d renewals, %d requests; want %d, %d", renewals, got, tt.renewals, tt.requests)
			}
		})
	}
}
