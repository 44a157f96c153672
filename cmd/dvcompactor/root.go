package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/dvcompactor/dvcompactor/internal/cli/document"
	"github.com/dvcompactor/dvcompactor/internal/cli/exit"
	"github.com/spf13/cobra"
)

// run carries out a command line and returns the exit code.
func run(ctx context.Context, e env, args []string) exit.Code {
	root := newRoot(e)
	started := false
	root.PersistentPreRun = func(*cobra.Command, []string) { started = true }
	root.SetArgs(append([]string{}, args...)) // cobra takes the arguments of the process for nil
	cmd, err := root.ExecuteContextC(ctx)
	var given *exit.Error
	if err != nil && !started && !errors.As(err, &given) {
		err = exit.With(exit.Usage, err) // cobra's own errors are about the command line
	}
	return complain(e, cmd, exit.Interruption(ctx, err))
}

// complain prints an error that the result does not tell of.
func complain(e env, cmd *cobra.Command, err error) exit.Code {
	code := exit.Of(err)
	if err == nil || exit.WasReported(err) {
		return code
	}
	if f := cmd.Flags().Lookup("output"); f != nil && f.Value.String() == outputJSON {
		_ = document.Write(e.stdout, document.Error{Failure: document.NewFailure(err, false)})
	}
	fmt.Fprintf(e.stderr, "dvcompactor: %s\n", exit.Text(err))
	if code == exit.Usage {
		fmt.Fprintf(e.stderr, "See %q.\n", cmd.CommandPath()+" --help")
	}
	return code
}

// newRoot makes the command and its verbs.
func newRoot(e env) *cobra.Command {
	root := &cobra.Command{
		Use:   "dvcompactor",
		Short: "Merge the deletes of Iceberg tables into few deletion vectors",
		Long: paragraphs(
			"dvcompactor reads a catalog, finds the live deletes of each data file, merges position deletes and deletion vectors into one deletion vector for each data file, packs them into few Puffin files, and commits one snapshot. It never touches a data file.",
			"Tables are named catalog.namespace.table. The catalog can be left out when the configuration has only one. * and ? match several tables.",
			"The result goes to standard output, logs and progress go to standard error."),
		SilenceErrors: true, SilenceUsage: true,
		CompletionOptions: cobra.CompletionOptions{DisableDefaultCmd: true},
	}
	root.SetIn(e.stdin)
	root.SetOut(e.stdout)
	root.SetErr(e.stderr)
	root.SetHelpTemplate(root.HelpTemplate() + "\n" + exit.Table)
	root.AddCommand(newDemo(e), newPlan(e), newApply(e), newCompact(e), newMigrate(e), newCheck(e), newRepair(e), newServe(e), newHealthcheck(), newStatus(e), newPause(e), newResume(e), newInspect(e), newConfig(e), newVersion(e), newCompletion(e), newMan())
	return root
}

// paragraphs folds text to lines of a width that is pleasant to read.
func paragraphs(texts ...string) string {
	const width = 90
	var out strings.Builder
	for i, text := range texts {
		if i > 0 {
			out.WriteString("\n\n")
		}
		length := 0
		for j, word := range strings.Fields(text) {
			switch {
			case j == 0:
			case length+1+len(word) > width:
				out.WriteByte('\n')
				length = 0
			default:
				out.WriteByte(' ')
				length++
			}
			out.WriteString(word)
			length += len(word)
		}
	}
	return out.String()
}
