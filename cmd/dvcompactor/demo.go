package main

import (
	"github.com/dvcompactor/dvcompactor/internal/cli/tour"
	"github.com/spf13/cobra"
)

func newDemo(e env) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "Make a lakehouse, wear it down, migrate and compact it, and show before and after",
		Long: paragraphs(
			"Makes a small lakehouse of local files, a table that many delete jobs have worn down, migrates it, wears it down again and compacts it. After each step all rows are read by another implementation, to show that they stay the same.",
			"The folder stays, so that you can look around in it."),
		Args: cobra.NoArgs,
	}
	output := newOutputFlags(cmd, e)
	var o tour.Options
	f := cmd.Flags()
	f.StringVar(&o.Demo.Dir, "dir", "", "`folder` to make the lakehouse in (default a new one for temporary files)")
	f.IntVar(&o.Demo.Scale, "scale", 1, "`number` to divide the size of the table by")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		out, progress, err := output.open()
		if err != nil {
			return err
		}
		o.Output, o.Demo.Version = out, e.build.Version
		if progress != nil {
			o.Demo.Progress = progress
		}
		return tour.Run(cmd.Context(), o)
	}
	return cmd
}
