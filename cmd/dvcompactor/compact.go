package main

import (
	"github.com/dvcompactor/dvcompactor/maintenance"
	"github.com/spf13/cobra"
)

func newCompact(e env) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "compact TABLE...",
		Short: "Merge position deletes and deletion vectors, pack Puffin files",
		Long: paragraphs(
			"Merges the position deletes and deletion vectors of each data file into one deletion vector, packs small Puffin files into few, drops deletes of data files that are gone, and commits one snapshot to each table. The deleted rows stay the same; data files are not touched.",
			"Tables of format version 2 cannot hold deletion vectors: they are skipped. See migrate."),
		Args: cobra.MinimumNArgs(1),
	}
	v := newTablesVerb(cmd, e)
	cmd.RunE = func(cmd *cobra.Command, args []string) error { return v.run(cmd.Context(), maintenance.Compact, args) }
	return cmd
}
