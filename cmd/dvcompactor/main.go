// Command dvcompactor keeps the deletes of Iceberg tables small: it merges position delete files and deletion vectors
// into one deletion vector per data file and packs these into few Puffin files.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	_ "time/tzdata" // the image has no time zones of its own, which schedules need

	"github.com/dvcompactor/dvcompactor/internal/cli/exit"
	"github.com/dvcompactor/dvcompactor/internal/positiondelete"
)

func main() {
	tuneMemory(os.LookupEnv)
	if err := positiondelete.BoundCodecs(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(int(exit.Failed))
	}
	ctx, stop := untilSignal(context.Background())
	code := run(ctx, processEnv(), os.Args[1:])
	stop()
	os.Exit(int(code))
}

// untilSignal returns a context that the first SIGINT or SIGTERM cancels; the second ends the process.
func untilSignal(ctx context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	go func() {
		for s := range signals {
			cause := &exit.Signal{Signal: s}
			if ctx.Err() != nil {
				os.Exit(int(cause.Code()))
			}
			cancel(cause)
		}
	}()
	return ctx, func() {
		signal.Stop(signals)
		close(signals)
		cancel(nil)
	}
}
