package main

import (
	"io"

	"github.com/dvcompactor/dvcompactor/internal/cli/exit"
	"github.com/spf13/cobra"
)

func newCompletion(e env) *cobra.Command {
	return &cobra.Command{
		Use:   "completion bash|zsh|fish|powershell",
		Short: "Print a script that completes command lines",
		Long: `Prints a script for a shell. For instance:

  bash        source <(dvcompactor completion bash)
  zsh         dvcompactor completion zsh > "${fpath[1]}/_dvcompactor"
  fish        dvcompactor completion fish > ~/.config/fish/completions/dvcompactor.fish
  powershell  dvcompactor completion powershell | Out-String | Invoke-Expression`,
		Args:      cobra.ExactArgs(1),
		ValidArgs: []string{"bash", "zsh", "fish", "powershell"},
		RunE: func(cmd *cobra.Command, args []string) error {
			return complete(cmd.Root(), args[0], e.stdout)
		},
	}
}

func complete(root *cobra.Command, shell string, w io.Writer) error {
	switch shell {
	case "bash":
		return root.GenBashCompletionV2(w, true)
	case "zsh":
		return root.GenZshCompletion(w)
	case "fish":
		return root.GenFishCompletion(w, true)
	case "powershell":
		return root.GenPowerShellCompletionWithDesc(w)
	}
	return exit.Usagef("shell %q is not one of bash, zsh, fish, powershell", shell)
}
