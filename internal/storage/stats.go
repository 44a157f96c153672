package storage

import (
	"sync/atomic"
	"time"
)

// Op is a kind of request to a store.
type Op string

// The kinds of requests.
const (
	OpGet      Op = "get"       // read of a whole object, or of its rest
	OpGetRange Op = "get_range" // read of a range
	OpHead     Op = "head"      // size of an object
	OpPut      Op = "put"       // write of an object, however many parts it is sent in
	OpDelete   Op = "delete"    // removal of an object
	OpList     Op = "list"      // one page of a listing
)

// Ops returns the kinds of requests.
func Ops() []Op { return []Op{OpGet, OpGetRange, OpHead, OpPut, OpDelete, OpList} }

// Stats are the requests sent and bytes moved since the store was opened, or for a table by all that [Store.ForTable] made
// for it. Every attempt counts.
type Stats struct {
	Gets      int64 `json:"gets"`
	RangeGets int64 `json:"range_gets"`
	Heads     int64 `json:"heads"`
	Puts      int64 `json:"puts"`
	Deletes   int64 `json:"deletes"`
	Lists     int64 `json:"lists"`
	// Retries are the attempts after a first one.
	Retries int64 `json:"retries"`
	// Failures are the attempts that ended with an error, including those that found no object.
	Failures int64 `json:"failures"`
	// BytesRead and BytesWritten count object content.
	BytesRead    int64 `json:"bytes_read"`
	BytesWritten int64 `json:"bytes_written"`
}

// Requests is the number of requests of all kinds.
func (s Stats) Requests() int64 {
	return s.Gets + s.RangeGets + s.Heads + s.Puts + s.Deletes + s.Lists
}

// Sub returns the requests and bytes since earlier.
func (s Stats) Sub(earlier Stats) Stats {
	return Stats{
		Gets: s.Gets - earlier.Gets, RangeGets: s.RangeGets - earlier.RangeGets, Heads: s.Heads - earlier.Heads,
		Puts: s.Puts - earlier.Puts, Deletes: s.Deletes - earlier.Deletes, Lists: s.Lists - earlier.Lists,
		Retries: s.Retries - earlier.Retries, Failures: s.Failures - earlier.Failures,
		BytesRead: s.BytesRead - earlier.BytesRead, BytesWritten: s.BytesWritten - earlier.BytesWritten,
	}
}

// counters is the live form of Stats.
type counters struct {
	gets, rangeGets, heads, puts, deletes, lists atomic.Int64
	retries, failures                            atomic.Int64
	bytesRead, bytesWritten                      atomic.Int64
}

func (c *counters) of(op Op) *atomic.Int64 {
	switch op {
	case OpGet:
		return &c.gets
	case OpGetRange:
		return &c.rangeGets
	case OpHead:
		return &c.heads
	case OpPut:
		return &c.puts
	case OpDelete:
		return &c.deletes
	default:
		return &c.lists
	}
}

// Stats returns the counters. It is safe to call at any time, also after Close.
func (s *Store) Stats() Stats {
	c := s.counters
	return Stats{
		Gets: c.gets.Load(), RangeGets: c.rangeGets.Load(), Heads: c.heads.Load(),
		Puts: c.puts.Load(), Deletes: c.deletes.Load(), Lists: c.lists.Load(),
		Retries: c.retries.Load(), Failures: c.failures.Load(),
		BytesRead: c.bytesRead.Load(), BytesWritten: c.bytesWritten.Load(),
	}
}

// request runs one attempt, counts it and gives its error a kind.
func (s *Store) request(op Op, attempt func() error) error {
	start := time.Now()
	s.counters.of(op).Add(1)
	err := attempt()
	return s.observe(op, time.Since(start), err)
}

// observe gives the error of an attempt a kind and tells whoever watches.
func (s *Store) observe(op Op, took time.Duration, err error) error {
	err = classify(err)
	if err != nil {
		s.counters.failures.Add(1)
	}
	if s.opts.Observe != nil {
		s.opts.Observe(op, took, err)
	}
	return err
}
