package storage_test

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"net/http"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/dvcompactor/dvcompactor/internal/storage"
	"github.com/dvcompactor/dvcompactor/internal/testlake/cloudserver"
)

// cloudLab is a store on a server whose replies can be broken.
type cloudLab struct {
	*cloudserver.Server
	store  *storage.Store
	base   string
	refuse func(w http.ResponseWriter, status int, word string)
}

// clouds start a server other than S3.
func clouds() map[string]func(t *testing.T) *cloudLab {
	return map[string]func(t *testing.T) *cloudLab{
		"GCS": func(t *testing.T) *cloudLab {
			g := cloudserver.NewGCS(t)
			return &cloudLab{g.Server, open(t, storage.Options{Properties: g.Properties()}), "gs://lake/", g.Refuse}
		},
		"Azure": func(t *testing.T) *cloudLab {
			a := cloudserver.NewAzure(t)
			return &cloudLab{a.Server, open(t, storage.Options{Properties: a.Properties()}), a.Base("lake"), a.Refuse}
		},
	}
}

// breakWith breaks the following requests, one after the other.
func (l *cloudLab) breakWith(faults ...fault) {
	var n atomic.Int64
	l.Use(func(healthy http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if i := int(n.Add(1)); i <= len(faults) {
				faults[i-1](w, r, healthy)
				return
			}
			healthy.ServeHTTP(w, r)
		})
	})
}

func (l *cloudLab) always(f fault) { l.breakWith(slices.Repeat([]fault{f}, 1000)...) }

func (l *cloudLab) refusal(status int, word string) fault {
	return func(w http.ResponseWriter, _ *http.Request, _ http.Handler) { l.refuse(w, status, word) }
}

// verdict is what a refusal has to mean.
type verdict struct {
	status  int
	word    string
	kind    error // nil for none of them
	passes  bool
	stale   bool
	isNever error
}

// verdicts are the refusals of Google Cloud Storage and of Azure.
func verdicts() map[string][]verdict {
	both := func(notFound, precondition, denied, stale, slow, fault string) []verdict {
		return []verdict{
			{status: 404, word: notFound, kind: fs.ErrNotExist},
			{status: 412, word: precondition, kind: storage.ErrExists},
			{status: 403, word: denied, kind: storage.ErrPermission, isNever: fs.ErrNotExist},
			{status: 401, word: stale, kind: storage.ErrPermission, stale: true},
			{status: 416, word: "InvalidRange", kind: storage.ErrBeyondEnd},
			{status: 429, word: slow, passes: true},
			{status: 408, word: slow, passes: true},
			{status: 500, word: fault, passes: true},
			{status: 502, word: "", passes: true},
			{status: 503, word: slow, passes: true},
			{status: 400, word: "badRequest"},
		}
	}
	return map[string][]verdict{
		"GCS": append(both("notFound", "conditionNotMet", "forbidden", "authError", "rateLimitExceeded", "backendError"),
			verdict{status: 404, word: "The specified bucket does not exist.", isNever: fs.ErrNotExist}),
		"Azure": append(both("BlobNotFound", "ConditionNotMet", "AuthorizationPermissionMismatch", "InvalidAuthenticationInfo", "ServerBusy", "InternalError"),
			verdict{status: 404, word: "ContainerNotFound", isNever: fs.ErrNotExist},
			verdict{status: 409, word: "BlobAlreadyExists", kind: storage.ErrExists},
			verdict{status: 409, word: "BlobImmutableDueToPolicy", kind: storage.ErrPermission, isNever: storage.ErrExists},
			verdict{status: 412, word: "LeaseIdMissing", kind: storage.ErrPermission, isNever: storage.ErrExists},
			verdict{status: 403, word: "AuthenticationFailed", kind: storage.ErrPermission, stale: true}),
	}
}

func TestRefusalsMeanTheSameOnEveryCloud(t *testing.T) {
	t.Parallel()
	for name, start := range clouds() {
		for _, v := range verdicts()[name] {
			t.Run(name+" "+http.StatusText(v.status)+" "+v.word, func(t *testing.T) {
				t.Parallel()
				l := start(t)
				l.always(l.refusal(v.status, v.word))
				_, readErr := l.store.ReadRange(t.Context(), l.base+"x", 0, 10)
				requests := len(l.Seen())
				writeErr := l.store.WriteFile(t.Context(), l.base+"x", []byte("data"))
				_, wholeErr := l.store.ReadFile(t.Context(), l.base+"x")
				for i, err := range []error{readErr, writeErr, wholeErr} {
					v.judge(t, i, err)
				}
				if want := map[bool]int{false: 1, true: 4}[v.passes]; requests != want {
					t.Errorf("%d requests, want %d", requests, want)
				}
			})
		}
	}
}

func (v verdict) judge(t *testing.T, operation int, err error) {
	t.Helper()
	switch {
	case err == nil, v.kind != nil && !errors.Is(err, v.kind), v.isNever != nil && errors.Is(err, v.isNever):
		t.Errorf("operation %d: got %v", operation, err)
	case storage.Transient(err) != v.passes, storage.StaleCredentials(err) != v.stale:
		t.Errorf("operation %d: passing %t, stale %t: %v", operation, storage.Transient(err), storage.StaleCredentials(err), err)
	}
}

func TestCloudReadsSurviveFaults(t *testing.T) {
	t.Parallel()
	data := randomBytes(1000)
	faults := map[string]fault{
		"connection closed without an answer": hangUp,
		"206 with another range":              rewriteRange("bytes=0-99"),
		"206 with a shorter range":            rewriteRange("bytes=100-149"),
		"200 with the whole object":           rewriteRange(""),
		"fewer bytes than announced":          emptyHalf,
	}
	for name, start := range clouds() {
		for what, broken := range faults {
			t.Run(name+": "+what, func(t *testing.T) {
				t.Parallel()
				l := start(t)
				write(t, l.store, l.base+"x", data)
				l.breakWith(broken, broken)
				got, err := l.store.ReadRange(t.Context(), l.base+"x", 100, 100)
				if err != nil || !bytes.Equal(got, data[100:200]) {
					t.Errorf("got %d bytes, %v", len(got), err)
				}
				l.always(broken)
				got, err = l.store.ReadRange(t.Context(), l.base+"x", 100, 100)
				if got != nil || !storage.Transient(err) || errors.Is(err, storage.ErrBeyondEnd) || errors.Is(err, fs.ErrNotExist) {
					t.Errorf("a fault of the transport looks like a fact about the object: %d bytes, %v", len(got), err)
				}
			})
		}
	}
}

// rewriteRange makes the server answer a request for another range, or for everything when it is empty.
func rewriteRange(header string) fault {
	return func(w http.ResponseWriter, r *http.Request, healthy http.Handler) {
		for _, name := range []string{"Range", "X-Ms-Range"} {
			if r.Header.Get(name) != "" {
				r.Header.Set(name, header)
			}
		}
		healthy.ServeHTTP(w, r)
	}
}

func TestACloudWriteWhoseAnswerIsLostIsRecognised(t *testing.T) {
	t.Parallel()
	for name, start := range clouds() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := start(t)
			l.breakWith(thenHangUp)
			cost(t, l.store, storage.Stats{Puts: 2, Gets: 1, Retries: 1, Failures: 2}, func() {
				if err := l.store.WriteFileIfAbsent(t.Context(), l.base+"lease", []byte("ours")); err != nil {
					t.Error(err)
				}
			})
			l.breakWith(l.refusal(http.StatusServiceUnavailable, "busy"))
			if err := l.store.WriteFileIfAbsent(t.Context(), l.base+"lease", []byte("theirs")); !errors.Is(err, storage.ErrExists) {
				t.Errorf("somebody else's: %v", err)
			}
			wantContent(t, l.store, l.base+"lease", []byte("ours"))
		})
	}
}

func TestACloudWriteInPartsSurvivesAFaultAndIsInvisibleWhenItFails(t *testing.T) {
	t.Parallel()
	data := randomBytes(20<<20 + 3)
	for name, start := range clouds() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := start(t)
			l.breakWith(passOn, l.refusal(http.StatusServiceUnavailable, "busy"))
			if err := stream(t, l, "survives", data); err != nil {
				t.Error(err)
			}
			wantContent(t, l.store, l.base+"survives", data)
			l.always(l.refusal(http.StatusForbidden, "forbidden"))
			if err := stream(t, l, "fails", data); !errors.Is(err, storage.ErrPermission) {
				t.Errorf("got %v", err)
			}
			l.Use(nil)
			wantAbsent(t, l.store, l.base+"fails")
		})
	}
}

func passOn(w http.ResponseWriter, r *http.Request, healthy http.Handler) { healthy.ServeHTTP(w, r) }

func stream(t *testing.T, l *cloudLab, key string, data []byte) error {
	t.Helper()
	w, err := l.store.Create(t.Context(), l.base+key)
	if err != nil {
		return err
	}
	if _, err := io.Copy(w, bytes.NewReader(data)); err != nil {
		return errors.Join(err, w.Abort())
	}
	return w.Close()
}
