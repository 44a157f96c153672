package main

import (
	"github.com/dvcompactor/dvcompactor/internal/cli/runs"
	"github.com/dvcompactor/dvcompactor/maintenance"
	"github.com/spf13/cobra"
)

func newPlan(e env) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "plan [TABLE...]",
		Short: "Say what would be done and why, and what is skipped and why",
		Long: paragraphs(
			"Reads the tables, all of them when none is named, and says what compact or migrate would do and what would be skipped, with reasons. Nothing is changed.",
			"A plan saved with -o is a document to review; apply carries out exactly that, or refuses."),
	}
	source, output, flags := sourceFlags(cmd, e), newOutputFlags(cmd, e), newRunFlags(cmd)
	var o runs.PlanOptions
	action, upgrade := string(maintenance.Compact), false
	flags.inPlace.add(cmd)
	f := cmd.Flags()
	f.StringVarP(&o.Save, "out", "o", "", "`file` or location to save the plan to")
	f.StringVar(&action, "action", action, "compact or migrate")
	f.BoolVar(&upgrade, "upgrade-format", false, "with migrate: upgrade tables of format version 2 to 3, which cannot be undone")
	f.BoolVar(&o.DetailedExitCode, "detailed-exit-code", false, "exit with 5 when there is work")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		out, progress, err := output.open()
		if err != nil {
			return err
		}
		o.Output, o.Tables, o.Run = out, args, flags.options(e, maintenance.Action(action), progress)
		o.Run.UpgradeFormat = upgrade
		if o.Lake, err = source.Open(args...); err != nil {
			return err
		}
		defer o.Lake.Close()
		return runs.Plan(cmd.Context(), o)
	}
	return cmd
}
