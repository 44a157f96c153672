package main

import (
	"context"

	"github.com/dvcompactor/dvcompactor/internal/cli/lake"
	"github.com/dvcompactor/dvcompactor/internal/cli/runs"
	"github.com/dvcompactor/dvcompactor/maintenance"
	"github.com/spf13/cobra"
)

// tablesVerb is what compact and migrate share.
type tablesVerb struct {
	env           env
	source        *lake.Source
	output        *outputFlags
	flags         *runFlags
	dryRun        bool
	upgradeFormat bool
}

func newTablesVerb(cmd *cobra.Command, e env) *tablesVerb {
	v := &tablesVerb{env: e, source: sourceFlags(cmd, e), output: newOutputFlags(cmd, e), flags: newRunFlags(cmd)}
	cmd.Flags().BoolVar(&v.dryRun, "dry-run", false, "say what would be done and why; change nothing")
	return v
}

func (v *tablesVerb) run(ctx context.Context, action maintenance.Action, tables []string) error {
	out, progress, err := v.output.open()
	if err != nil {
		return err
	}
	l, err := v.source.Open(tables...)
	if err != nil {
		return err
	}
	defer l.Close()
	o := v.flags.options(v.env, action, progress)
	o.UpgradeFormat = v.upgradeFormat
	return runs.Run(ctx, runs.Options{Output: out, Lake: l, Tables: tables, Run: o, DryRun: v.dryRun})
}
