package main

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/dvcompactor/dvcompactor/internal/cli/exit"
	"github.com/dvcompactor/dvcompactor/internal/cli/lake"
	"github.com/dvcompactor/dvcompactor/internal/cli/runs"
	"github.com/dvcompactor/dvcompactor/maintenance/repair"
	"github.com/spf13/cobra"
)

// repairVerb is the command line of repair.
type repairVerb struct {
	env     env
	source  *lake.Source
	output  *outputFlags
	flags   *runFlags
	issues  []string
	file    string
	apply   bool
	rows    int64
	aliases []string
	tag     string
	upgrade bool
}

func newRepair(e env) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "repair TABLE --issue ID...",
		Short: "Mend damaged deletes that check found",
		Long: paragraphs(
			"Checks the table, works out the right deletes of each data file that has one of the issues, and says what it would do: the deleted rows of each data file before and after, the entries that go, the rows that come back. Nothing is changed without --apply.",
			"With --apply it copies what is damaged to metadata/dvcompactor/repair/ of the table, writes new deletion vectors (position delete files in a table of format version 2), checks the result, and commits one snapshot, whose operation is replace when no reader's answer changes and else delete. The snapshot before stays, with a tag if --tag says so, and the statement that goes back to it is printed. By itself the tag is left out where readers fail on that snapshot, unless rows come back. Data files and old snapshots are not touched.",
			"A damaged deletion vector is recovered from another version of its object or from older snapshots, when these account for every position. Otherwise rows come back: then nothing is done until --restore-rows confirms how many.",
			"A data file with several issues needs all of them named. --file chooses one data file, delete file or manifest, and with #OFFSET one deletion vector in a Puffin file."),
		Args: cobra.ExactArgs(1),
	}
	v := &repairVerb{env: e, source: sourceFlags(cmd, e), output: newOutputFlags(cmd, e), flags: &runFlags{}}
	f := cmd.Flags()
	f.StringVar(&v.flags.ref, "ref", "", "`branch` to repair (default main)")
	f.StringSliceVar(&v.issues, "issue", nil, "`ids` of the issues to repair, as check names them")
	f.StringVar(&v.file, "file", "", "only findings about this data file or object: `PATH` or PATH#OFFSET")
	f.BoolVar(&v.apply, "apply", false, "do it")
	f.Int64Var(&v.rows, "restore-rows", 0, "agree that this `number` of deleted rows comes back")
	f.StringArrayVar(&v.aliases, "alias", nil, "`FROM=TO`: what begins with FROM is what begins with TO, as s3a://=s3://")
	f.BoolVar(&v.upgrade, "upgrade-format", false, "dv-in-v2: upgrade the table to format version 3, which cannot be undone")
	f.StringVar(&v.tag, "tag", string(repair.TagAuto), "`when` to tag the snapshot before: always, never, auto")
	v.flags.resources(cmd)
	_ = cmd.RegisterFlagCompletionFunc("issue", completeIssues)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		var rows *int64
		if cmd.Flags().Changed("restore-rows") {
			rows = &v.rows
		}
		return v.run(cmd.Context(), args[0], rows)
	}
	return cmd
}

func (v *repairVerb) run(ctx context.Context, table string, rows *int64) error {
	o := repair.Options{
		Tag: repair.Tagging(v.tag), UpgradeFormat: v.upgrade, Ref: v.flags.ref, Issues: v.issues, Apply: v.apply, RestoreRows: rows, Memory: int64(v.flags.memory), Parallelism: v.flags.parallelism, Version: v.env.build.Version,
	}
	if len(v.issues) == 0 {
		return exit.Usagef("--issue is missing: name the issues to repair, as check names them")
	}
	var err error
	if o.File, o.Offset, err = place(v.file); err != nil {
		return err
	}
	for _, text := range v.aliases {
		a, err := repair.ParseAlias(text)
		if err != nil {
			return exit.With(exit.Usage, fmt.Errorf("--alias: %w", err))
		}
		o.Aliases = append(o.Aliases, a)
	}
	out, progress, err := v.output.open()
	if err != nil {
		return err
	}
	if progress != nil {
		o.Progress = progress
	}
	l, err := v.source.Open(table)
	if err != nil {
		return err
	}
	defer l.Close()
	return runs.Repair(ctx, runs.RepairOptions{Output: out, Lake: l, Table: table, Repair: o})
}

// place reads PATH or PATH#OFFSET. A path may have a # of its own: what follows the last one is an offset only when it is a
// number.
func place(text string) (string, *int64, error) {
	i := strings.LastIndexByte(text, '#')
	if i < 0 {
		return text, nil, nil
	}
	offset, err := strconv.ParseInt(text[i+1:], 10, 64)
	if err != nil {
		return text, nil, nil
	}
	if offset < 0 || i == 0 {
		return "", nil, exit.Usagef("--file %q is not of the form PATH#OFFSET", text)
	}
	return text[:i], &offset, nil
}
