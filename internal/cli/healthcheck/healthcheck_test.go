package healthcheck

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/dvcompactor/dvcompactor/internal/cli/exit"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// answering is a daemon that gives one answer to the question whether it is healthy.
func answering(status int, text string) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /-/healthy", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Location", "/elsewhere")
		w.WriteHeader(status)
		_, _ = w.Write([]byte(text))
	})
	mux.HandleFunc("GET /elsewhere", func(http.ResponseWriter, *http.Request) {})
	return mux
}

func ask(t *testing.T, address string) error {
	return Run(t.Context(), Options{URL: address, Timeout: time.Minute})
}

func TestAHealthyDaemonIsHealthy(t *testing.T) {
	t.Parallel()
	plain := httptest.NewServer(answering(http.StatusOK, "healthy"))
	defer plain.Close()
	require.NoError(t, ask(t, plain.URL))
	require.NoError(t, ask(t, plain.URL+"/"))
}

func TestACertificateForAnotherNameIsNoIllness(t *testing.T) {
	t.Parallel()
	secure := httptest.NewTLSServer(answering(http.StatusOK, "healthy"))
	defer secure.Close()
	require.NoError(t, ask(t, secure.URL))
}

func TestWhatIsNotHealthyIsAFailure(t *testing.T) {
	t.Parallel()
	for _, status := range []int{http.StatusServiceUnavailable, http.StatusNotFound, http.StatusFound, http.StatusNoContent} {
		s := httptest.NewServer(answering(status, "not healthy\n"))
		err := ask(t, s.URL)
		s.Close()
		require.ErrorContains(t, err, http.StatusText(status))
		assert.Equal(t, exit.Failed, exit.Of(err))
	}
}

func TestADaemonThatIsGoneIsAFailure(t *testing.T) {
	t.Parallel()
	s := httptest.NewServer(answering(http.StatusOK, ""))
	s.Close()
	err := ask(t, s.URL)
	require.ErrorContains(t, err, "does not answer")
	assert.Equal(t, exit.Failed, exit.Of(err))
}

func TestADaemonThatHangsIsAFailure(t *testing.T) {
	t.Parallel()
	s := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }))
	defer s.Close()
	err := Run(t.Context(), Options{URL: s.URL, Timeout: 10 * time.Millisecond})
	require.ErrorIs(t, err, context.DeadlineExceeded)
}

func TestAnAddressThatIsNoneIsAUsageError(t *testing.T) {
	t.Parallel()
	for _, address := range []string{"", "127.0.0.1:9464", "ftp://127.0.0.1", "http://", "%"} {
		assert.Equal(t, exit.Usage, exit.Of(ask(t, address)), address)
	}
}
