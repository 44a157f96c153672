package main

import (
	"github.com/dvcompactor/dvcompactor/internal/cli/settings"
	"github.com/spf13/cobra"
)

func newConfig(e env) *cobra.Command {
	cmd := &cobra.Command{
		Use: "config", Short: "Check or print the configuration", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newConfigCheck(e), newConfigPrint(e))
	return cmd
}

func newConfigCheck(e env) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "check",
		Short: "Say every mistake in the configuration",
		Long: paragraphs(
			"Reads the configuration and says every mistake in it with its line. With --connect it also asks every catalog for its tables and loads one, and says what its commits rely on, which store was reached, and how many tables each policy takes. A catalog that does not work never stops the rest."),
		Args: cobra.NoArgs,
	}
	source, output := sourceFlags(cmd, e), newOutputFlags(cmd, e)
	o := settings.CheckOptions{}
	cmd.Flags().BoolVar(&o.Connect, "connect", false, "connect to every catalog and load a table of it")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		out, _, err := output.open()
		if err != nil {
			return err
		}
		o.Output, o.Source = out, *source
		return settings.Check(cmd.Context(), o)
	}
	return cmd
}

func newConfigPrint(e env) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "print",
		Short: "Print the configuration that is in effect",
		Long:  paragraphs("Prints the configuration as YAML with defaults filled in, references replaced and secrets masked."),
		Args:  cobra.NoArgs,
	}
	source := sourceFlags(cmd, e)
	cmd.RunE = func(*cobra.Command, []string) error { return settings.Print(e.stdout, *source) }
	return cmd
}
