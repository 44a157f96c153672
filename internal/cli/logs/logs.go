// Package logs makes the logger: JSON lines, or lines for people on a terminal.
package logs

import (
	"fmt"
	"io"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
)

// Options of a logger.
type Options struct {
	// Level is debug, info, warn or error. Empty means info, and warn on a terminal, where the result says the same.
	Level string
	// Console chooses lines for people instead of JSON.
	Console bool
	// Colour paints the level; only with Console.
	Colour bool
}

// New makes a logger that writes to w.
func New(w io.Writer, o Options) (*zap.Logger, error) {
	level := zapcore.InfoLevel
	if o.Console {
		level = zapcore.WarnLevel
	}
	if o.Level != "" {
		if err := level.UnmarshalText([]byte(o.Level)); err != nil || level > zapcore.ErrorLevel {
			return nil, fmt.Errorf("--log-level %q is not one of debug, info, warn, error", o.Level)
		}
	}
	return zap.New(zapcore.NewCore(encoder(o), zapcore.Lock(zapcore.AddSync(w)), level)), nil
}

func encoder(o Options) zapcore.Encoder {
	c := zap.NewProductionEncoderConfig()
	c.TimeKey, c.EncodeTime = "time", zapcore.RFC3339TimeEncoder
	if !o.Console {
		return zapcore.NewJSONEncoder(c)
	}
	c.EncodeTime = zapcore.TimeEncoderOfLayout("15:04:05")
	c.EncodeLevel = zapcore.CapitalLevelEncoder
	if o.Colour {
		c.EncodeLevel = zapcore.CapitalColorLevelEncoder
	}
	return zapcore.NewConsoleEncoder(c)
}
