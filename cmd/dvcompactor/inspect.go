package main

import (
	"github.com/dvcompactor/dvcompactor/internal/cli/look"
	"github.com/dvcompactor/dvcompactor/puffin"
	"github.com/spf13/cobra"
)

func newInspect(e env) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "inspect FILE|LOCATION|TABLE",
		Short: "Show a Puffin file, a deletion vector, or the live deletes of a table",
		Long: paragraphs(
			"Shows the footer of a Puffin file, its deletion vectors as ranges of positions, and its bytes with the names of their parts. With --offset and --length it reads that range as a deletion vector and never looks at the footer. Of a table it shows the live deletes.",
			"FILE is a local path or any location that the configuration reaches.",
			"Exit code 4 says that what was asked for is corrupt or unsupported."),
		Args: cobra.ExactArgs(1),
	}
	source, output := sourceFlags(cmd, e), newOutputFlags(cmd, e)
	var o look.Options
	var r look.Range
	f := cmd.Flags()
	f.StringVar(&o.Ref, "ref", "", "`branch` or tag of the table (default main)")
	f.Int64Var(&r.Offset, "offset", 0, "content offset of a deletion vector in `bytes`")
	f.Int64Var(&r.Length, "length", 0, "content size of a deletion vector in `bytes`")
	f.Int64Var(&r.RecordCount, "record-count", puffin.UnknownRecordCount, "`number` of positions that the manifest promises, -1 for unknown")
	f.BoolVar(&o.All, "all", false, "show every range, byte and row, however many there are")
	f.BoolVar(&o.Bytes, "bytes", false, "show the bytes of large files too")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		var err error
		if o.Output, _, err = output.open(); err != nil {
			return err
		}
		if o.Range, err = look.RangeOf(r, f.Changed("offset"), f.Changed("length"), f.Changed("record-count")); err != nil {
			return err
		}
		if o.Lake, err = source.OpenOptional(args...); err != nil {
			return err
		}
		defer o.Lake.Close()
		return look.Inspect(cmd.Context(), o, args[0])
	}
	return cmd
}
