package main

import (
	"fmt"

	"github.com/dvcompactor/dvcompactor/maintenance"
	"github.com/spf13/cobra"
)

// inPlaceFlags say how compact rewrites the position delete files of tables that stay in format version 2.
type inPlaceFlags struct {
	granularity   granularityFlag
	targetSize    sizeFlag
	minInputFiles int
	rewriteAll    bool
}

// add adds the flags to a verb.
func (p *inPlaceFlags) add(cmd *cobra.Command) {
	f := cmd.Flags()
	f.Var(&p.granularity, "granularity", "format version 2: write delete files by file or by partition (default the table's)")
	f.Var(&p.targetSize, "delete-file-size", "format version 2: size of a delete file to aim for (default the table's, else 64MiB)")
	f.IntVar(&p.minInputFiles, "min-input-files", 0, "format version 2: rewrite a partition with this `number` of small files (default 5)")
	f.BoolVar(&p.rewriteAll, "rewrite-all", false, "format version 2: take large files and few files too; what gains nothing stays")
}

func (p *inPlaceFlags) options() maintenance.InPlace {
	return maintenance.InPlace{
		Granularity: maintenance.Granularity(p.granularity), TargetSize: int64(p.targetSize), MinInputFiles: p.minInputFiles, RewriteAll: p.rewriteAll,
	}
}

// granularityFlag is file or partition. It implements pflag.Value.
type granularityFlag maintenance.Granularity

// Set implements pflag.Value.
func (g *granularityFlag) Set(text string) error {
	switch v := maintenance.Granularity(text); v {
	case maintenance.ByFile, maintenance.ByPartition:
		*g = granularityFlag(v)
		return nil
	}
	return fmt.Errorf("must be %s or %s", maintenance.ByFile, maintenance.ByPartition)
}

// String implements pflag.Value.
func (g *granularityFlag) String() string { return string(*g) }

// Type implements pflag.Value.
func (g *granularityFlag) Type() string { return "granularity" }
