package storage

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"
)

// RetryOptions bounds how often and how fast a failed request is repeated. The pause before attempt n+1 is a random
// duration between half of and the whole of BaseDelay * 2^(n-1), never more than MaxDelay.
type RetryOptions struct {
	// Attempts is the number of attempts including the first; 0 means 4, 1 means no retries.
	Attempts int
	// BaseDelay is the longest first pause; 0 means 100 ms.
	BaseDelay time.Duration
	// MaxDelay bounds every pause; 0 means 5 s.
	MaxDelay time.Duration
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

// retry runs try until it succeeds, fails for good, or the attempts are used up. The attempt counts from 1.
func (s *Store) retry(ctx context.Context, try func(attempt int) error) error {
	for attempt := 1; ; attempt++ {
		err := ctx.Err()
		if err == nil {
			err = try(attempt)
		}
		if err == nil || ctx.Err() != nil || !Transient(err) {
			return err
		}
		if attempt >= s.opts.Retry.Attempts {
			return gaveUp(attempt, err)
		}
		if werr := wait(ctx, s.opts.Retry.delay(attempt)); werr != nil {
			return fmt.Errorf("%w after %d attempts, the last error: %w", werr, attempt, err)
		}
		s.counters.retries.Add(1)
	}
}

func gaveUp(attempts int, err error) error {
	if attempts == 1 {
		return err
	}
	return fmt.Errorf("gave up after %d attempts: %w", attempts, err)
}

func wait(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}
