package main

import (
	"context"

	"github.com/dvcompactor/dvcompactor/internal/cli/serve"
	"github.com/spf13/cobra"
)

func newPause(e env) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "pause -c FILE TABLE --reason TEXT",
		Short: "Make daemons leave a table alone",
		Long: paragraphs(
			"Notes below daemon.state of the configuration that the table is paused. Daemons obey before they next begin a run on it; a run that has begun goes on. No daemon needs to run.",
			"It is about daemons only: compact, migrate, repair and apply do what they are told."),
		Args: cobra.ExactArgs(1),
	}
	reason := cmd.Flags().String("reason", "", "`text` for whoever sees the table paused; required")
	blockVerb(cmd, e, func(ctx context.Context, o serve.BlockOptions) error { return serve.Pause(ctx, o, *reason) })
	return cmd
}

func newResume(e env) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "resume -c FILE TABLE",
		Short: "Let daemons work again on a table that was paused or halted",
		Long: paragraphs(
			"Takes back a pause, and the halt of a table that a safety check refused: look first at what it said. A daemon that runs notices when it next asks the catalog for its tables (daemon.discovery of the configuration), and does what was missed once."),
		Args: cobra.ExactArgs(1),
	}
	blockVerb(cmd, e, serve.Resume)
	return cmd
}

// blockVerb is what pause and resume share.
func blockVerb(cmd *cobra.Command, e env, do func(context.Context, serve.BlockOptions) error) {
	source, output := sourceFlags(cmd, e), newOutputFlags(cmd, e)
	o := serve.BlockOptions{}
	cmd.Flags().BoolVar(&o.Maintenance, "maintenance", false, "only compact and migrate")
	cmd.Flags().BoolVar(&o.Check, "check", false, "only checks")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		out, _, err := output.open()
		if err != nil {
			return err
		}
		o.Output, o.Source, o.Table = out, *source, args[0]
		return do(cmd.Context(), o)
	}
}
