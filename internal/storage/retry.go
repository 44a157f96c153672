package storage

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"net/http"
	"strconv"
	"strings"
	"time"

	smithyhttp "github.com/aws/smithy-go/transport/http"

	"github.com/dvcompactor/dvcompactor/internal/storage/cloud"
)

// RetryOptions bounds how often and how fast a failed request is repeated. The pause before attempt n+1 is a random
// duration between half of and the whole of BaseDelay * 2^(n-1), never more than MaxDelay. It comes on top of the pause
// that the server asks for, if it does, so that clients which were told the same do not all come back at once.
type RetryOptions struct {
	// Attempts is the number of attempts including the first; 0 means 4, 1 means no retries.
	Attempts int
	// BaseDelay is the longest first pause; 0 means 100 ms.
	BaseDelay time.Duration
	// MaxDelay bounds every pause that the server does not ask for; 0 means 5 s.
	MaxDelay time.Duration
	// MaxAsked bounds every pause that the server asks for with Retry-After; 0 means 60 s.
	MaxAsked time.Duration
}

func (o RetryOptions) withDefaults() RetryOptions {
	if o.Attempts <= 0 {
		o.Attempts = 4
	}
	if o.BaseDelay <= 0 {
		o.BaseDelay = 100 * time.Millisecond
	}
	if o.MaxDelay <= 0 {
		o.MaxDelay = 5 * time.Second
	}
	if o.MaxAsked <= 0 {
		o.MaxAsked = time.Minute
	}
	return o
}

// delay returns the pause after the given failed attempt, which counts from 1.
func (o RetryOptions) delay(attempt int) time.Duration {
	d := o.MaxDelay
	if shift := attempt - 1; shift < 30 && o.BaseDelay<<shift < d && o.BaseDelay<<shift > 0 {
		d = o.BaseDelay << shift
	}
	return d/2 + rand.N(d/2+1)
}

// Asked returns for how long a reply with status 429 or 503 asks not to be called again, by its Retry-After header as
// seconds or as a date; 0 when it does not. It is never more than MaxAsked.
func (o RetryOptions) Asked(status int, header http.Header, now time.Time) time.Duration {
	if status != http.StatusTooManyRequests && status != http.StatusServiceUnavailable {
		return 0
	}
	o, value := o.withDefaults(), strings.TrimSpace(header.Get("Retry-After"))
	if seconds, err := strconv.ParseUint(value, 10, 64); err == nil || errors.Is(err, strconv.ErrRange) {
		return min(time.Duration(min(seconds, math.MaxInt32))*time.Second, o.MaxAsked)
	}
	at, err := http.ParseTime(value)
	if err != nil {
		return 0
	}
	return min(max(at.Sub(now), 0), o.MaxAsked)
}

// Repeat runs try until it succeeds, fails for good, or the attempts are used up. The attempt counts from 1. judge says
// of an error whether it may pass, and for how long the server asked to wait. The end of the context ends everything.
func (o RetryOptions) Repeat(ctx context.Context, try func(attempt int) error, judge func(error) (passes bool, asked time.Duration)) error {
	o = o.withDefaults()
	for attempt := 1; ; attempt++ {
		err := ctx.Err()
		if err == nil {
			err = try(attempt)
		}
		if err == nil || ctx.Err() != nil {
			return err
		}
		passes, asked := judge(err)
		if !passes {
			return err
		}
		if attempt >= o.Attempts {
			return gaveUp(attempt, err)
		}
		if werr := Wait(ctx, asked+o.delay(attempt)); werr != nil {
			return fmt.Errorf("%w after %d attempts, the last error: %w", werr, attempt, err)
		}
	}
}

func gaveUp(attempts int, err error) error {
	if attempts == 1 {
		return err
	}
	return fmt.Errorf("gave up after %d attempts: %w", attempts, err)
}

// Wait sleeps, unless the context ends, whose error it then returns.
func Wait(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}

// retry repeats a request that failed in a way that may pass. Credentials that the store no longer takes are renewed
// once, if there is a way; such a request did nothing, so it is repeated whatever the number of attempts.
func (s *Store) retry(ctx context.Context, try func(attempt int) error) error {
	renew := s.renewal()
	counted := func(attempt int) error {
		if attempt > 1 {
			s.counters.retries.Add(1)
		}
		err := try(attempt)
		if renew == nil || !StaleCredentials(err) {
			return err
		}
		if renewErr := renew(ctx); renewErr != nil {
			return errors.Join(err, fmt.Errorf("renewing the credentials: %w", renewErr))
		}
		renew = nil
		s.counters.retries.Add(1)
		return try(attempt)
	}
	return s.opts.Retry.Repeat(ctx, counted, func(err error) (bool, time.Duration) { return Transient(err), s.asked(err) })
}

func (s *Store) renewal() func(context.Context) error {
	if s.opts.Renewal == nil {
		return nil
	}
	return s.opts.Renewal()
}

// asked is what the store's reply asked for.
func (s *Store) asked(err error) time.Duration {
	var refused *cloud.Error
	if errors.As(err, &refused) {
		return s.opts.Retry.Asked(refused.Status, refused.Header, time.Now())
	}
	var reply *smithyhttp.ResponseError
	if !errors.As(err, &reply) || reply.Response == nil {
		return 0
	}
	return s.opts.Retry.Asked(reply.HTTPStatusCode(), reply.Response.Header, time.Now())
}
