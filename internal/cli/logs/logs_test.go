package logs

import (
	"encoding/json"
	"github.com/dvcompactor/dvcompactor/internal/logkey"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/zap"
)

func TestJSONLines(t *testing.T) {
	var out strings.Builder
	log, err := New(&out, Options{})
	require.NoError(t, err)
	log.Debug("not shown")
	log.Info("run finished", zap.String(logkey.Table, "prod.sales.orders"))
	var line map[string]any
	require.NoError(t, json.Unmarshal([]byte(out.String()), &line))
	assert.Equal(t, "run finished", line["msg"])
	assert.Equal(t, "info", line["level"])
	assert.Equal(t, "prod.sales.orders", line["table"])
	assert.Regexp(t, `^\d{4}-\d\d-\d\dT`, line["time"])
}

func TestConsoleLines(t *testing.T) {
	var out strings.Builder
	log, err := New(&out, Options{Console: true})
	require.NoError(t, err)
	log.Info("the result says the same")
	log.Warn("careful")
	assert.Equal(t, 1, strings.Count(out.String(), "\n"))
	assert.Contains(t, out.String(), "WARN\tcareful")
	log, err = New(&out, Options{Console: true, Colour: true, Level: "info"})
	require.NoError(t, err)
	log.Info("asked for")
	assert.Contains(t, out.String(), "\x1b[")
}

func TestLevels(t *testing.T) {
	for _, level := range []string{"debug", "info", "warn", "error"} {
		_, err := New(&strings.Builder{}, Options{Level: level})
		assert.NoError(t, err)
	}
	for _, level := range []string{"loud", "fatal", "panic", "dpanic"} {
		_, err := New(&strings.Builder{}, Options{Level: level})
		assert.ErrorContains(t, err, "debug, info, warn, error")
	}
}
