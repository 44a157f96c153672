package main

import (
	"strconv"
	"strings"
	"time"

	"github.com/dvcompactor/dvcompactor/internal/cli/exit"
	"github.com/dvcompactor/dvcompactor/internal/cli/serve"
	"github.com/dvcompactor/dvcompactor/internal/daemon"
	"github.com/spf13/cobra"
)

func newServe(e env) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "serve -c FILE",
		Short: "Run the policies of the configuration on their schedules",
		Long: paragraphs(
			"Finds the tables of all catalogs, and runs on each the most specific policy for its maintenance and the one for its checks, when they are due and a trigger fires. Missed runs happen once. A table that fails again and again is paused, one that a safety check refuses is halted; neither holds up others. See pause, resume and status.",
			"The first SIGTERM or SIGINT ends the daemon: no further table is begun, what is being committed is ended, what was uploaded in vain is removed. The second ends it at once. SIGHUP, and POST /-/reload, read the configuration again; one with mistakes changes nothing.",
			"HTTP, on daemon.listen of the configuration (loopback by default): /-/healthy, /-/ready, /metrics for Prometheus, /status as JSON, and / as a page for people.",
			"--once runs everything that is due, or was never run, prints how the tables stand, and exits: for jobs that something else schedules. It needs daemon.state to know what was run before. Its exit code is 3 when some runs failed, 4 when all went well and a check found damage, 11 when all that was due was locked, paused or halted, else that of what went wrong."),
		Args: cobra.NoArgs,
	}
	source, output := sourceFlags(cmd, e), newOutputFlags(cmd, e)
	f := cmd.Flags()
	once := f.Bool("once", false, "run what is due and exit")
	shard := f.String("shard", "", "work on `part` of the tables only: 1/3, 2/3 and 3/3 share them")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		part, err := parseShard(*shard)
		if err != nil {
			return err
		}
		out, _, err := output.open()
		if err != nil {
			return err
		}
		return serve.Run(cmd.Context(), serve.Options{Source: *source, Once: *once, Shard: part, Version: e.build.Version, Output: out, Now: time.Now})
	}
	return cmd
}

// parseShard reads "i/n".
func parseShard(text string) (daemon.Shard, error) {
	if text == "" {
		return daemon.Shard{}, nil
	}
	i, n, ok := strings.Cut(text, "/")
	index, err := strconv.ParseUint(i, 10, 31)
	of, errOf := strconv.ParseUint(n, 10, 31)
	if !ok || err != nil || errOf != nil || index < 1 || index > of {
		return daemon.Shard{}, exit.Usagef("--shard %q is not of the form 1/3", text)
	}
	return daemon.Shard{Index: index, Of: of}, nil
}
