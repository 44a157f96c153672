// Package exit turns the errors of a command into exit codes. Scripts and schedulers rely on the numbers: they never
// change, and every help text lists them.
package exit

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"syscall"

	"github.com/dvcompactor/dvcompactor/catalog"
	"github.com/dvcompactor/dvcompactor/config"
	"github.com/dvcompactor/dvcompactor/internal/storage"
	"github.com/dvcompactor/dvcompactor/maintenance"
	"github.com/dvcompactor/dvcompactor/maintenance/repair"
	"github.com/dvcompactor/dvcompactor/maintenance/where"
)

// Code is the exit code of the process.
type Code int

// The exit codes.
const (
	OK          Code = 0
	Failed      Code = 1
	Usage       Code = 2
	Partial     Code = 3
	Damaged     Code = 4
	Work        Code = 5
	Conflicts   Code = 6
	Stale       Code = 7
	Refused     Code = 8
	NotFound    Code = 10
	Locked      Code = 11
	Interrupted Code = 130
	Terminated  Code = 143
)

// Table is the part of every help text that explains the codes.
const Table = `Exit codes:
  0    done, or nothing to do
  1    failed
  2    wrong usage or configuration
  3    partial: some tables failed
  4    damage found; inspect: what was asked for is not ok
  5    plan --detailed-exit-code: there is work
  6    conflicts, retries exhausted
  7    plan is stale: make a new one
  8    a safety check refused: do not retry
  10   catalog, table, branch or file not found
  11   locked or paused
  130  interrupted (SIGINT)
  143  terminated (SIGTERM)
`

// Error is an error that knows its exit code.
type Error struct {
	Code Code
	Err  error
	// Reported says that the result already told of the error, so that nothing needs to be printed to standard output.
	Reported bool
}

// Error gives the text of the cause.
func (e *Error) Error() string { return e.Err.Error() }

// Unwrap gives the cause.
func (e *Error) Unwrap() error { return e.Err }

// With gives err a code. It returns nil for nil.
func With(code Code, err error) error {
	if err == nil {
		return nil
	}
	return &Error{Code: code, Err: err}
}

// Usagef makes an error with the code Usage.
func Usagef(format string, args ...any) error { return With(Usage, fmt.Errorf(format, args...)) }

// Reported marks err, which keeps its code, as told in the result already.
func Reported(err error) error {
	if err == nil {
		return nil
	}
	return &Error{Code: Of(err), Err: err, Reported: true}
}

// WasReported says whether the result already told of err, and of every part of it when it joins several.
func WasReported(err error) bool {
	switch e := err.(type) {
	case *Error:
		return e.Reported
	case interface{ Unwrap() []error }:
		return !slices.ContainsFunc(e.Unwrap(), func(part error) bool { return !WasReported(part) })
	}
	return false
}

// Signal is the cause of a context that a signal cancelled.
type Signal struct{ Signal os.Signal }

// Error names the signal.
func (s *Signal) Error() string { return "stopped by signal: " + s.Signal.String() }

// Code returns 128 and the number of the signal.
func (s *Signal) Code() Code {
	if n, ok := s.Signal.(syscall.Signal); ok {
		return 128 + Code(n)
	}
	return Interrupted
}

// Interruption gives the error of work that a signal ended that signal as its cause.
func Interruption(ctx context.Context, err error) error {
	var signal, known *Signal
	if err == nil || !errors.As(context.Cause(ctx), &signal) || errors.As(err, &known) || WasReported(err) {
		return err
	}
	return fmt.Errorf("%w (%w)", signal, err)
}

// Of returns the code of an error: the one it was given, else the one of the kind it is of.
func Of(err error) Code {
	var given *Error
	var signal *Signal
	switch {
	case err == nil:
		return OK
	case errors.As(err, &signal):
		return signal.Code()
	case errors.As(err, &given):
		return given.Code
	}
	for _, k := range kinds() {
		if errors.Is(err, k.err) {
			return k.code
		}
	}
	return Failed
}

// KindUnknownOutcome is the kind of a commit of which nobody knows whether it happened.
const KindUnknownOutcome = "unknown-outcome"

// Kind returns a stable word for what kind of error err is, for documents that programs read.
func Kind(err error) string {
	for _, k := range kinds() {
		if errors.Is(err, k.err) {
			return k.name
		}
	}
	switch Of(err) {
	case Usage:
		return "usage"
	case Refused:
		return "refused"
	case NotFound:
		return "not-found"
	case Interrupted, Terminated:
		return "interrupted"
	}
	return "failed"
}

// Text is the text of an error without passwords: libraries put the addresses they connect to into their errors.
func Text(err error) string { return config.Redact(err.Error()) }

type kind struct {
	err  error
	code Code
	name string
}

// kinds lists the errors that have a code of their own. The first that matches counts: a commit that lost every race
// is a conflict, whatever the reply to the last attempt was.
func kinds() []kind {
	return []kind{
		{maintenance.ErrConflicts, Conflicts, "conflicts"},
		{catalog.ErrUnknown, Failed, KindUnknownOutcome},
		{maintenance.ErrStale, Stale, "stale"},
		{maintenance.ErrVerify, Failed, "verify"},
		{maintenance.ErrProof, Refused, "proof"},
		{maintenance.ErrRefusedTable, Refused, "refused"},
		{catalog.ErrFormatVersion, Refused, "refused"},
		{storage.ErrInvalidLocation, Refused, "refused"},
		{repair.ErrConfirm, Refused, "confirm"},
		{repair.ErrNoRepair, Refused, "no-repair"},
		{repair.ErrOptions, Usage, "usage"},
		{where.ErrPredicate, Usage, "usage"},
		{maintenance.ErrNoRef, NotFound, "not-found"},
		{catalog.ErrNotFound, NotFound, "not-found"},
	}
}
