package model

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/dvcompactor/dvcompactor/catalog"
	"github.com/dvcompactor/dvcompactor/internal/testlake"
	"github.com/dvcompactor/dvcompactor/internal/testlake/faults"
	"github.com/dvcompactor/dvcompactor/internal/testlake/forge"
	"github.com/dvcompactor/dvcompactor/maintenance"
	"github.com/stretchr/testify/require"
)

// options draws the options of a run from the numbers of its step.
func (w *world) options(s step) maintenance.Options {
	return maintenance.Options{
		Action: maintenance.Action(s.op), Ref: w.use, UpgradeFormat: s.args[0]%2 == 0,
		Memory: []int64{1, 2000, 1 << 30}[s.args[0]%3], TargetPuffinSize: []int64{300, 1500, 1 << 26}[s.args[1]%3],
		Where: []string{"", "", "region = 1", "region IS NULL OR NOT region IN (0, 2)", "region <= 1"}[s.args[3]%5],
		InPlace: maintenance.InPlace{
			Granularity: []maintenance.Granularity{"", maintenance.ByFile, maintenance.ByPartition}[s.args[1]%3],
			TargetSize:  []int64{1200, 1 << 26}[s.args[0]%2], MinInputFiles: 1 + s.args[3]%3, RewriteAll: s.args[3]%4 == 0,
		},
		Parallelism: 2, Retry: maintenance.Retry{Attempts: 4, BaseDelay: time.Nanosecond, MaxDelay: time.Nanosecond},
	}
}

// verb runs one of our actions, often with other writers between its steps or with a store and a catalog that fail.
// After a healthy run another one has to find nothing to do.
func (w *world) verb(s step) {
	if w.lake.Load().Metadata.SnapshotByName(w.use) == nil {
		return
	}
	before := w.lake.Keys()
	run := &attempt{world: w, options: w.options(s), races: max(0, s.args[2]%8-3), racer: s, script: fault(s)}
	run.do()
	run.judge(before)
	if run.raced == 0 && run.script == "" {
		require.NoError(w.t, run.err)
		again := &attempt{world: w, options: run.options}
		again.do()
		require.NoError(w.t, again.err)
		require.False(w.t, again.report.Committed, "a second run commits")
	}
}

// attempt is one run of one of our actions.
type attempt struct {
	world   *world
	options maintenance.Options
	races   int    // before how many commits another writer commits
	racer   step   // what it does is drawn from these numbers
	script  string // of faults

	raced  int
	faults *faults.Script
	report *maintenance.Report
	err    error
}

func (a *attempt) do() {
	var err error
	a.faults, err = faults.Parse(a.script)
	require.NoError(a.world.t, err)
	through := a.world.lake.Through(a.faults.Bucket(a.world.lake.Bucket))
	cat := a.faults.Catalog(&testlake.Racing{Catalog: through, Before: a.race})
	a.report, a.err = maintenance.Run(context.Background(), cat, forge.Ident(), a.options)
}

// judge checks what a run said of itself. What it did to the table is judged at each of its commits.
func (a *attempt) judge(before []string) {
	w, t := a.world, a.world.t
	a.note()
	if a.report == nil {
		require.Error(t, a.err)
		return
	}
	landed := a.report.SnapshotAfter != nil && w.lake.Load().Metadata.SnapshotByID(*a.report.SnapshotAfter) != nil
	silent := strings.Contains(a.script, "pretend") || a.faults.Crashed()
	if a.report.Committed && !silent {
		require.True(t, landed, "it says that it committed, but its snapshot is not in the table (%v)", a.err)
	}
	if a.err == nil || a.raced > 0 || silent || errors.Is(a.err, catalog.ErrUnknown) || errors.Is(a.err, maintenance.ErrVerify) {
		return
	}
	if strings.Contains(a.err.Error(), "removing unused files") {
		return // the store refused to, and the error names them
	}
	after := w.lake.Keys()
	if !landed {
		require.Equal(t, before, after, "a run that failed for certain leaves objects behind: %v", a.err)
	}
}

func (a *attempt) note() {
	noted := a.world.noted
	noted["runs"]++
	switch {
	case a.faults.Crashed():
		noted["runs that crashed"]++
	case a.err != nil:
		noted["runs that failed"]++
	case a.report.Committed:
		noted["commits"]++
		if before, after := a.report.Before, a.report.After; before.DeleteManifests > after.DeleteManifests && before.DeletionVectors == after.DeletionVectors &&
			before.PositionDeleteFiles == after.PositionDeleteFiles && len(a.report.Puffins) == 0 {
			noted["commits that merged manifests alone"]++
		}
	}
	if a.report != nil && len(a.report.Dropped) > 0 {
		noted["commits that left data files out"]++
	}
	if a.raced > 0 {
		noted["races"]++
	}
}

// race lets another writer commit right before the n-th commit of the run.
func (a *attempt) race(n int) {
	if n > a.races {
		return
	}
	a.raced++
	s := a.racer.args
	op := racers()[(s[3]+n)%len(racers())]
	a.world.take(step{op: op, args: [4]int{s[3], s[2], s[1], s[0] + n}})
}

// racers are what other writers do during a run.
func racers() []string {
	return strings.Fields("posdel vector append drop drop rewrite update eq readd merge expire schema spec")
}

// fault draws a script of faults; every second run is healthy.
func fault(s step) string {
	scripts := []string{
		"any #%d: 503", "any #%d: reset", "get-range #%d: short", "get every 2: 429", "put #%d: lost-reply", "put #%d: fail", "put *.puffin #1: garbage",
		"get-range *.puffin #%d: garbage", "write #%d: crash", "write #%d: crash-after", "put #%d: torn", "put always: 503", "load #2: 503", "load #2+: fail",
		"commit #1: conflict", "commit #1-2: conflict", "commit always: conflict", "commit #1: conflict-after-success", "commit #1: lost-reply",
		"commit #1: unknown", "commit #1: refused", "commit #1: pretend", "commit #1: 503", "commit #1: crash-after", "delete always: fail",
	}
	n := s.args[3]
	if s.args[2]%2 == 0 || n >= 4*len(scripts) {
		return ""
	}
	script := scripts[n%len(scripts)]
	if strings.Contains(script, "%d") {
		script = fmt.Sprintf(script, 1+s.args[1]%8)
	}
	return script
}
