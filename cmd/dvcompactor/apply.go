package main

import (
	"github.com/dvcompactor/dvcompactor/internal/cli/runs"
	"github.com/spf13/cobra"
)

func newApply(e env) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "apply PLAN",
		Short: "Carry out exactly a reviewed plan, or refuse",
		Long: paragraphs(
			"Carries out a plan that plan -o saved. When the deletes that it is about have changed, nothing is done and the exit code is 7: make a new plan.",
			"PLAN is a local path or any location that the configuration reaches."),
		Args: cobra.ExactArgs(1),
	}
	source, output, flags := sourceFlags(cmd, e), newOutputFlags(cmd, e), &runFlags{}
	flags.resources(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		out, progress, err := output.open()
		if err != nil {
			return err
		}
		o := runs.ApplyOptions{Output: out, Source: *source, Plan: args[0], Run: flags.options(e, "", progress)}
		return runs.Apply(cmd.Context(), o)
	}
	return cmd
}
