package storage_test

import (
	"bytes"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/dvcompactor/dvcompactor/internal/storage"
)

func TestWritesSurviveFaults(t *testing.T) {
	t.Parallel()
	writes := map[string]func(s *storage.Store, location string, data []byte) error{
		"WriteFile": func(s *storage.Store, location string, data []byte) error {
			return s.WriteFile(t.Context(), location, data)
		},
		"WriteFileIfAbsent": func(s *storage.Store, location string, data []byte) error {
			return s.WriteFileIfAbsent(t.Context(), location, data)
		},
		"Create": func(s *storage.Store, location string, data []byte) error {
			w, err := s.Create(t.Context(), location)
			if err != nil {
				return err
			}
			if _, err := w.Write(data); err != nil {
				return errors.Join(err, w.Abort())
			}
			return w.Close()
		},
	}
	scripts := map[string][]fault{
		"not answered":                     {hangUp},
		"written but not answered":         {thenHangUp},
		"slow down":                        {status(http.StatusServiceUnavailable, "SlowDown")},
		"a conflict that passes":           {status(http.StatusConflict, "ConditionalRequestConflict")},
		"written, not answered, slow down": {thenHangUp, status(http.StatusServiceUnavailable, "SlowDown")},
	}
	for how, put := range writes {
		for what, script := range scripts {
			t.Run(how+": "+what, func(t *testing.T) {
				t.Parallel()
				lab, s := labStore(t, nil)
				lab.breakWith(sequence(script...))
				data := randomBytes(5000)
				if err := put(s, "s3://lake/new", data); err != nil {
					t.Error(err)
				}
				lab.breakWith(nil)
				wantContent(t, s, "s3://lake/new", data)
			})
		}
		t.Run(how+": refused", func(t *testing.T) {
			t.Parallel()
			lab, s := labStore(t, nil)
			lab.breakWith(first(1000, status(http.StatusForbidden, "AccessDenied")))
			if err := put(s, "s3://lake/new", []byte("x")); !errors.Is(err, storage.ErrPermission) {
				t.Errorf("got %v", err)
			}
			if seen := lab.Take(); len(seen) != 1 {
				t.Errorf("requests: %+v", seen)
			}
			lab.breakWith(nil)
			wantAbsent(t, s, "s3://lake/new")
		})
	}
}

func TestIfAbsentRecognisesItsOwnWrite(t *testing.T) {
	t.Parallel()
	lab, s := labStore(t, nil)
	lab.breakWith(sequence(thenHangUp))
	cost(t, s, storage.Stats{Puts: 2, Gets: 1, Retries: 1, Failures: 2}, func() {
		if err := s.WriteFileIfAbsent(t.Context(), "s3://lake/lease", []byte("ours")); err != nil {
			t.Error(err)
		}
	})
}

func TestIfAbsentLosesToAnotherWriterAfterAFault(t *testing.T) {
	t.Parallel()
	lab, s := labStore(t, nil)
	otherWins := func(_ http.ResponseWriter, r *http.Request, healthy http.Handler) {
		put := httptest.NewRequestWithContext(r.Context(), http.MethodPut, r.URL.Path, bytes.NewReader([]byte("theirs")))
		put.Header.Set("Content-Length", "6")
		healthy.ServeHTTP(httptest.NewRecorder(), put)
		panic(http.ErrAbortHandler)
	}
	lab.breakWith(sequence(otherWins))
	if err := s.WriteFileIfAbsent(t.Context(), "s3://lake/lease", []byte("ours")); !errors.Is(err, storage.ErrExists) {
		t.Errorf("got %v", err)
	}
	wantContent(t, s, "s3://lake/lease", []byte("theirs"))
}

func TestAbortOfAnUploadInParts(t *testing.T) {
	t.Parallel()
	lab, s := labStore(t, nil)
	w, err := s.Create(t.Context(), "s3://lake/parts")
	if err != nil {
		t.Fatal(err)
	}
	for range 5 {
		if _, err := w.Write(randomBytes(5 << 20)); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Abort(); err != nil {
		t.Error(err)
	}
	seen := lab.Take()
	if last := seen[len(seen)-1]; last.Method != http.MethodDelete || !strings.Contains(last.Query, "uploadId=") {
		t.Errorf("the parts stay in the store: %+v", seen)
	}
	wantListed(t, s, "s3://lake/", "x")
}
