package main

import (
	"errors"
	"time"

	"github.com/dvcompactor/dvcompactor/config"
	"github.com/dvcompactor/dvcompactor/internal/cli/exit"
	"github.com/dvcompactor/dvcompactor/internal/cli/lake"
	"github.com/dvcompactor/dvcompactor/internal/cli/logs"
	"github.com/dvcompactor/dvcompactor/internal/cli/runs"
	"github.com/dvcompactor/dvcompactor/internal/term"
	"github.com/dvcompactor/dvcompactor/maintenance"
	"github.com/spf13/cobra"
)

const (
	outputText = "text"
	outputJSON = "json"
)

// sourceFlags say where the catalogs are.
func sourceFlags(cmd *cobra.Command, e env) *lake.Source {
	s := &lake.Source{LookupEnv: e.lookupEnv}
	f := cmd.Flags()
	f.StringVarP(&s.Config, "config", "c", "", "configuration `file`")
	f.StringVar(&s.CatalogURI, "catalog-uri", "", "`URI` of a catalog: sqlite:///FILE, postgres://, mysql://, https://, thrift://, glue://")
	f.StringVar(&s.CatalogName, "catalog-name", "", "`name` of the catalog at --catalog-uri (default the first level of the tables)")
	f.StringVar(&s.Warehouse, "warehouse", "", "`name` of the warehouse at --catalog-uri")
	return s
}

// outputFlags say what the result looks like.
type outputFlags struct {
	env      env
	output   string
	noColour bool
	logLevel string
}

func newOutputFlags(cmd *cobra.Command, e env) *outputFlags {
	o := &outputFlags{env: e}
	f := cmd.Flags()
	f.StringVar(&o.output, "output", outputText, "`form` of the result: text or json")
	f.BoolVar(&o.noColour, "no-color", false, "no colours; the environment variable NO_COLOR does the same")
	f.StringVar(&o.logLevel, "log-level", "", "least `level` to log: debug, info, warn, error (default info, on a terminal warn)")
	return o
}

// colour says whether to paint what goes to a terminal.
func (o *outputFlags) colour() bool {
	noColour, _ := o.env.lookupEnv("NO_COLOR")
	kind, _ := o.env.lookupEnv("TERM")
	return !o.noColour && noColour == "" && kind != "dumb"
}

// open makes the output and the progress line, which is nil when there is no terminal to draw it on.
func (o *outputFlags) open() (runs.Output, *term.Progress, error) {
	if o.output != outputText && o.output != outputJSON {
		return runs.Output{}, nil, exit.Usagef("--output %q is not one of text, json", o.output)
	}
	out, err := o.env.stdout, o.env.stderr
	terminal := o.env.isTerminal(err)
	var progress *term.Progress
	if terminal {
		progress = term.NewProgress(err, func() int { return o.env.width(o.env.stderr) }, time.Now)
		out, err = progress.Over(out), progress.Over(err)
	}
	log, logErr := logs.New(err, logs.Options{Level: o.logLevel, Console: terminal, Colour: terminal && o.colour()})
	if logErr != nil {
		return runs.Output{}, nil, exit.With(exit.Usage, logErr)
	}
	style := term.NewStyle(o.env.isTerminal(o.env.stdout) && o.colour())
	return runs.Output{Out: out, JSON: o.output == outputJSON, Style: style, Log: log}, progress, nil
}

// runFlags are the options of a run that all actions share.
type runFlags struct {
	ref              string
	memory           sizeFlag
	parallelism      int
	targetPuffinSize sizeFlag
	coolDown         coolDownFlag
	where            string
	inPlace          inPlaceFlags
}

func newRunFlags(cmd *cobra.Command) *runFlags {
	r := &runFlags{}
	f := cmd.Flags()
	f.StringVar(&r.ref, "ref", "", "`branch` to work on (default main)")
	f.Var(&r.targetPuffinSize, "target-puffin-size", "size of a Puffin file to aim for (default 64MiB)")
	f.Var(&r.coolDown, "cool-down", "leave data files alone whose deletes changed this recently, as 15m (default off)")
	f.StringVar(&r.where, "where", "", "only partitions that may have rows for which `predicate` holds, as \"day >= '2026-01-01'\"")
	r.resources(cmd)
	return r
}

// resources adds the flags that say how much a run may use.
func (r *runFlags) resources(cmd *cobra.Command) {
	f := cmd.Flags()
	f.Var(&r.memory, "memory", "memory for deletes being merged (default 512MiB)")
	f.IntVar(&r.parallelism, "parallelism", 0, "`number` of things to do at once (default the number of CPUs)")
}

func (r *runFlags) options(e env, action maintenance.Action, progress *term.Progress) maintenance.Options {
	o := maintenance.Options{
		Action: action, Ref: r.ref, Memory: int64(r.memory), Parallelism: r.parallelism, TargetPuffinSize: int64(r.targetPuffinSize),
		CoolDown: time.Duration(r.coolDown), Where: r.where, InPlace: r.inPlace.options(), Version: e.build.Version,
	}
	if progress != nil {
		o.Progress = progress
	}
	return o
}

// coolDownFlag is a duration of which 0, given on the command line, is not the same as nothing: it switches off what the
// configuration says. It implements pflag.Value.
type coolDownFlag time.Duration

// Set implements pflag.Value.
func (c *coolDownFlag) Set(text string) error {
	d, err := time.ParseDuration(text)
	if err == nil && d < 0 {
		err = errors.New("must not be negative")
	}
	if d == 0 {
		d = -1
	}
	*c = coolDownFlag(d)
	return err
}

// String implements pflag.Value.
func (c *coolDownFlag) String() string {
	if c == nil || *c == 0 {
		return ""
	}
	return time.Duration(max(*c, 0)).String()
}

// Type implements pflag.Value.
func (c *coolDownFlag) Type() string { return "duration" }

// sizeFlag is a number of bytes with a unit, in the grammar of the configuration. It implements pflag.Value.
type sizeFlag config.Size

// Set implements pflag.Value.
func (s *sizeFlag) Set(text string) error {
	size, err := config.ParseSize(text)
	if err == nil && size <= 0 {
		err = errors.New("must be more than 0")
	}
	*s = sizeFlag(size)
	return err
}

// String implements pflag.Value.
func (s *sizeFlag) String() string {
	if s == nil || *s == 0 {
		return ""
	}
	return config.Size(*s).String()
}

// Type implements pflag.Value.
func (s *sizeFlag) Type() string { return "size" }
