package storage_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"testing"
	"time"

	"github.com/dvcompactor/dvcompactor/internal/storage"
)

func TestRangeFaults(t *testing.T) {
	t.Parallel()
	data := randomBytes(1000)
	for name, broken := range passingFaults() {
		t.Run(name+" is repeated until it passes", func(t *testing.T) {
			t.Parallel()
			lab, s := labStore(t, data)
			lab.breakWith(first(3, broken))
			got, err := s.ReadRange(t.Context(), "s3://lake/x", 100, 100)
			if err != nil || !bytes.Equal(got, data[100:200]) {
				t.Errorf("got %d bytes, %v", len(got), err)
			}
			wantRequests(t, lab, 4, "bytes=100-199")
			// net/http itself repeats a GET on a kept connection that was closed, so that one may be missing here.
			if st := s.Stats(); st.Retries < 2 || st.RangeGets != st.Retries+1 || st.Failures != st.Retries {
				t.Errorf("stats: %+v", st)
			}
		})
		t.Run(name+" is an I/O error when it stays", func(t *testing.T) {
			t.Parallel()
			lab, s := labStore(t, data)
			lab.breakWith(first(1000, broken))
			got, err := s.ReadRange(t.Context(), "s3://lake/x", 100, 100)
			if err == nil || got != nil {
				t.Fatalf("got %d bytes, %v", len(got), err)
			}
			if !storage.Transient(err) || errors.Is(err, fs.ErrNotExist) || errors.Is(err, storage.ErrBeyondEnd) {
				t.Errorf("a fault of the transport looks like a fact about the object: %v", err)
			}
			wantRequests(t, lab, 4, "bytes=100-199")
		})
	}
}

// labStore returns a server that holds data as s3://lake/x, and a store over it.
func labStore(t *testing.T, data []byte) (*s3Lab, *storage.Store) {
	t.Helper()
	lab := newS3Lab(t)
	s := openMounted(t, lab.MountURL("lake"))
	write(t, s, "s3://lake/x", data)
	return lab, s
}

// hangUps is how many requests net/http adds when the server closes a kept connection.
const hangUps = 1

func wantRequests(t *testing.T, lab *s3Lab, n int, byteRange string) {
	t.Helper()
	seen := lab.Take()
	if len(seen) != n && len(seen) != n+hangUps {
		t.Errorf("the server saw %d requests, want %d: %+v", len(seen), n, seen)
	}
	for _, r := range seen {
		if r.Range != byteRange {
			t.Errorf("the server saw range %q, want %q", r.Range, byteRange)
		}
	}
}

func TestFinalAnswersAreNotRepeated(t *testing.T) {
	t.Parallel()
	answers := []struct {
		name string
		fault
		is, isNot error
	}{
		{"403 is a matter of permission", status(http.StatusForbidden, "AccessDenied"), storage.ErrPermission, fs.ErrNotExist},
		{"an expired token is a matter of permission", status(http.StatusBadRequest, "ExpiredToken"), fs.ErrPermission, fs.ErrNotExist},
		{"404 is a missing object", status(http.StatusNotFound, "NoSuchKey"), fs.ErrNotExist, fs.ErrPermission},
		{"a missing bucket is no missing object", status(http.StatusNotFound, "NoSuchBucket"), nil, fs.ErrNotExist},
		{"416 is a short object", status(http.StatusRequestedRangeNotSatisfiable, "InvalidRange"), storage.ErrBeyondEnd, fs.ErrNotExist},
		{"400 is final", status(http.StatusBadRequest, "InvalidRequest"), nil, fs.ErrNotExist},
	}
	for _, a := range answers {
		t.Run(a.name, func(t *testing.T) {
			t.Parallel()
			lab, s := labStore(t, nil)
			lab.breakWith(first(1000, a.fault))
			_, err := s.ReadRange(t.Context(), "s3://lake/x", 0, 10)
			if err == nil || a.is != nil && !errors.Is(err, a.is) || errors.Is(err, a.isNot) || storage.Transient(err) {
				t.Errorf("got %v", err)
			}
			wantRequests(t, lab, 1, "bytes=0-9")
		})
	}
}

func TestWholeReadsSurviveFaults(t *testing.T) {
	t.Parallel()
	data := randomBytes(100_000)
	reads := map[string]func(s *storage.Store) ([]byte, error){
		"ReadFile": func(s *storage.Store) ([]byte, error) { return s.ReadFile(t.Context(), "s3://lake/x") },
		"FileIO file": func(s *storage.Store) ([]byte, error) {
			f, err := s.FileIO(t.Context()).Open("s3://lake/x")
			if err != nil {
				return nil, err
			}
			defer func() { _ = f.Close() }()
			return io.ReadAll(f)
		},
	}
	scripts := map[string][]fault{
		"cut at half":                         {shortBody},
		"cut at half, then the range ignored": {shortBody, ignoresRange},
		"cut at half, then again":             {shortBody, shortBody, shortBody},
		"a range although none was asked for": {otherRange},
		"not answered at first":               {hangUp, status(http.StatusServiceUnavailable, "SlowDown")},
	}
	for how, read := range reads {
		for what, script := range scripts {
			t.Run(how+": "+what, func(t *testing.T) {
				t.Parallel()
				lab, s := labStore(t, data)
				lab.breakWith(sequence(script...))
				if got, err := read(s); err != nil || !bytes.Equal(got, data) {
					t.Errorf("got %d bytes, %v", len(got), err)
				}
			})
		}
		t.Run(how+": always cut at half", func(t *testing.T) {
			t.Parallel()
			lab, s := labStore(t, data)
			lab.breakWith(first(1000, emptyHalf))
			if got, err := read(s); !errors.Is(err, io.ErrUnexpectedEOF) || !storage.Transient(err) {
				t.Errorf("got %d bytes, %v", len(got), err)
			}
		})
	}
}

func TestObjectReplacedWhileItIsRead(t *testing.T) {
	t.Parallel()
	lab, s := labStore(t, randomBytes(100_000))
	f, err := s.FileIO(t.Context()).Open("s3://lake/x")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	if _, err := io.ReadFull(f, make([]byte, 10)); err != nil {
		t.Fatal(err)
	}
	write(t, s, "s3://lake/x", randomBytes(200_000))
	lab.breakWith(nil)
	if _, err := f.Seek(50_000, io.SeekStart); err != nil {
		t.Fatal(err)
	}
	if n, err := io.ReadFull(f, make([]byte, 10)); !errors.Is(err, storage.ErrWrongReply) {
		t.Errorf("read %d bytes of the new object, %v", n, err)
	}
}

func TestCancellationEndsThePauseBetweenAttempts(t *testing.T) {
	t.Parallel()
	lab := newS3Lab(t)
	lab.breakWith(first(1000, status(http.StatusServiceUnavailable, "SlowDown")))
	s := open(t, storage.Options{
		Mounts: []storage.Mount{{Prefix: "s3://lake/", URL: lab.MountURL("lake")}},
		Retry:  storage.RetryOptions{BaseDelay: time.Hour, MaxDelay: time.Hour},
	})
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	start := time.Now()
	_, err := s.ReadRange(ctx, "s3://lake/x", 0, 1)
	if !errors.Is(err, context.DeadlineExceeded) || time.Since(start) > 30*time.Second {
		t.Errorf("after %v: %v", time.Since(start), err)
	}
}

func TestCancellationEndsAHangingRequest(t *testing.T) {
	t.Parallel()
	lab, s := labStore(t, nil)
	lab.breakWith(first(1000, func(_ http.ResponseWriter, r *http.Request, _ http.Handler) { <-r.Context().Done() }))
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(50*time.Millisecond, cancel)
	_, err := s.ReadFile(ctx, "s3://lake/x")
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

func TestObserverSeesEveryAttempt(t *testing.T) {
	t.Parallel()
	lab := newS3Lab(t)
	var seen []string
	s := open(t, storage.Options{
		Mounts: []storage.Mount{{Prefix: "s3://lake/", URL: lab.MountURL("lake")}},
		Observe: func(op storage.Op, took time.Duration, err error) {
			seen = append(seen, fmt.Sprintf("%s ok=%t", op, err == nil && took >= 0))
		},
	})
	lab.breakWith(first(1, hangUp))
	write(t, s, "s3://lake/x", []byte("abc"))
	if _, err := s.ReadRange(t.Context(), "s3://lake/x", 1, 1); err != nil {
		t.Error(err)
	}
	if got, want := fmt.Sprint(seen), "[put ok=false put ok=true get_range ok=true]"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
