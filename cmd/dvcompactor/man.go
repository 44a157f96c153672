package main

import (
	"os"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"

	"github.com/dvcompactor/dvcompactor/internal/cli/exit"
)

// newMan makes the verb that packages are built with. The date of the pages is that of SOURCE_DATE_EPOCH, if it is set.
func newMan() *cobra.Command {
	return &cobra.Command{
		Use:    "man FOLDER",
		Short:  "Write a manual page for each verb into a folder",
		Args:   cobra.ExactArgs(1),
		Hidden: true,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := os.MkdirAll(args[0], 0o755); err != nil {
				return err
			}
			root := cmd.Root()
			root.DisableAutoGenTag = true
			root.Long += "\n\n  " + strings.ReplaceAll(strings.TrimSpace(exit.Table), "\n", "\n  ")
			indentExamples(root)
			return doc.GenManTree(root, &doc.GenManHeader{Section: "1", Source: "dvcompactor", Manual: "dvcompactor"}, args[0])
		},
	}
}

// indentExamples makes lines that are indented in a help text lines of their own in a page, which otherwise flow.
func indentExamples(cmd *cobra.Command) {
	cmd.Long = strings.ReplaceAll(cmd.Long, "\n  ", "\n      ")
	for _, c := range cmd.Commands() {
		indentExamples(c)
	}
}
