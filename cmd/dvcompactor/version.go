package main

import (
	"github.com/dvcompactor/dvcompactor/internal/cli/document"
	"github.com/spf13/cobra"
)

func newVersion(e env) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Args:  cobra.NoArgs,
	}
	output := newOutputFlags(cmd, e)
	cmd.RunE = func(*cobra.Command, []string) error {
		out, _, err := output.open()
		if err != nil {
			return err
		}
		if out.JSON {
			return document.Write(out.Out, e.build)
		}
		return e.build.write(out.Out)
	}
	return cmd
}
