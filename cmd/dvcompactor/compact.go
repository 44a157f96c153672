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
			"A table of format version 2 cannot hold deletion vectors and stays as it is: many small position delete files of a partition become few, sorted and without records of data files that are gone. See migrate for deletion vectors."),
		Args: cobra.MinimumNArgs(1),
	}
	v := newTablesVerb(cmd, e)
	v.flags.inPlace.add(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error { return v.run(cmd.Context(), maintenance.Compact, args) }
	return cmd
}
