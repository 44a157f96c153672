package main

import (
	"github.com/dvcompactor/dvcompactor/maintenance"
	"github.com/spf13/cobra"
)

func newMigrate(e env) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "migrate TABLE...",
		Short: "Replace position delete files by deletion vectors",
		Long: paragraphs(
			"Replaces the position delete files of each table by deletion vectors and commits one snapshot. The deleted rows stay the same; data files are not touched.",
			"A table of format version 2 has to be upgraded to version 3 for that, which cannot be undone. Nothing is done without --upgrade-format."),
		Args: cobra.MinimumNArgs(1),
	}
	v := newTablesVerb(cmd, e)
	cmd.Flags().BoolVar(&v.upgradeFormat, "upgrade-format", false, "upgrade tables of format version 2 to version 3, which cannot be undone")
	cmd.RunE = func(cmd *cobra.Command, args []string) error { return v.run(cmd.Context(), maintenance.Migrate, args) }
	return cmd
}
