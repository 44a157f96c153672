package main

import (
	"context"

	"github.com/dvcompactor/dvcompactor/internal/cli/exit"
	"github.com/dvcompactor/dvcompactor/internal/cli/lake"
	"github.com/dvcompactor/dvcompactor/internal/cli/runs"
	"github.com/dvcompactor/dvcompactor/maintenance/check"
	"github.com/spf13/cobra"
)

// checkVerb is the command line of check.
type checkVerb struct {
	source         *lake.Source
	output         *outputFlags
	flags          *runFlags
	footers, reads bool
	subset         string
	issues         []string
	history        int
}

func newCheck(e env) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "check TABLE...",
		Short: "Find damaged deletes, read-only",
		Long: paragraphs(
			"Looks for deletes that readers fail on, apply wrongly or will trip over, and writes nothing. Without flags it reads manifests only. --read-footers also asks for the sizes of delete files and reads the footers of Puffin files, --read-dvs also reads every deletion vector and the records of every position delete file.",
			"Besides the snapshot itself it compares ancestors with their children, and finds deletes that were dropped though their data files stayed, or that came back: as many as --history says, as far as they are not expired.",
			"--read-dvs-subset spreads the deepest check over several runs: 1/7 to 7/7 cover every data file once, 10% is another tenth every day.",
			"Findings that give wrong rows come first. Exit code 4 says that there is damage; findings that only waste space do not change the exit code."),
		Args: cobra.MinimumNArgs(1),
	}
	v := &checkVerb{source: sourceFlags(cmd, e), output: newOutputFlags(cmd, e), flags: &runFlags{}}
	f := cmd.Flags()
	f.StringVar(&v.flags.ref, "ref", "", "`branch` or tag to check (default main)")
	f.BoolVar(&v.footers, "read-footers", false, "also ask for sizes and read the footers of Puffin files")
	f.BoolVar(&v.reads, "read-dvs", false, "also read deletion vectors and position delete files")
	f.StringVar(&v.subset, "read-dvs-subset", "", "read-dvs for a `part` of the data files: 2/7, 10%")
	f.StringSliceVar(&v.issues, "issue", nil, "report only these `ids`")
	f.IntVar(&v.history, "history", 20, "compare this many ancestor `snapshots` with their children, 0 for none")
	v.flags.resources(cmd)
	_ = cmd.RegisterFlagCompletionFunc("issue", completeIssues)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if cmd.Flags().Changed("issue") && len(v.issues) == 0 {
			return exit.Usagef("--issue is empty")
		}
		var subset *string
		if cmd.Flags().Changed("read-dvs-subset") {
			subset = &v.subset
		}
		return v.run(cmd.Context(), args, subset)
	}
	return cmd
}

func (v *checkVerb) run(ctx context.Context, tables []string, part *string) error {
	level, subset, err := runs.CheckLevel(v.footers, v.reads, part)
	if err != nil {
		return err
	}
	out, progress, err := v.output.open()
	if err != nil {
		return err
	}
	l, err := v.source.Open(tables...)
	if err != nil {
		return err
	}
	defer l.Close()
	o := check.Options{Ref: v.flags.ref, Level: level, Subset: subset, Issues: v.issues, Memory: int64(v.flags.memory), Parallelism: v.flags.parallelism, History: v.history}
	if v.history <= 0 {
		o.History = -1 // 0 means the default there
	}
	if progress != nil {
		o.Progress = progress
	}
	return runs.Check(ctx, runs.CheckOptions{Output: out, Lake: l, Tables: tables, Check: o})
}

// completeIssues completes the ids of issues, with what they are.
func completeIssues(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	var out []string
	for _, issue := range check.Issues() {
		out = append(out, issue.ID+"\t"+issue.What)
	}
	return out, cobra.ShellCompDirectiveNoFileComp
}
