package main

import (
	"time"

	"github.com/dvcompactor/dvcompactor/internal/cli/serve"
	"github.com/spf13/cobra"
)

func newStatus(e env) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "status -c FILE [TABLE...]",
		Short: "Say how tables stand under their policies",
		Long: paragraphs(
			"Says of each table, or of those that are named, which policy takes it and why, when it is run next, how the last run ended, and whether it is paused or halted and why.",
			"It reads what daemons keep below daemon.state of the configuration, and asks the catalogs for their tables. No daemon needs to run; one that does tells more at /status."),
	}
	source, output := sourceFlags(cmd, e), newOutputFlags(cmd, e)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		out, _, err := output.open()
		if err != nil {
			return err
		}
		return serve.Status(cmd.Context(), serve.StatusOptions{Output: out, Source: *source, Tables: args, Version: e.build.Version, Now: time.Now})
	}
	return cmd
}
