package main

import (
	"time"

	"github.com/dvcompactor/dvcompactor/internal/cli/healthcheck"
	"github.com/spf13/cobra"
)

func newHealthcheck() *cobra.Command {
	var o healthcheck.Options
	cmd := &cobra.Command{
		Use:   "healthcheck",
		Short: "Ask a daemon on this machine whether it is healthy",
		Long: paragraphs(
			"Ends with 0 when the daemon answers at /-/healthy that it is, else with 1. It is for containers, whose image holds no other program that could ask.",
			"No configuration is read: a mistake in a new one is no reason to end a daemon that still works with the old one. Certificates are not verified, since it is meant for loopback addresses and sends nothing secret."),
		Args: cobra.NoArgs,
	}
	cmd.Flags().StringVar(&o.URL, "url", "http://127.0.0.1:9464", "`address` of the daemon")
	cmd.Flags().DurationVar(&o.Timeout, "timeout", 5*time.Second, "how long to wait")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error { return healthcheck.Run(cmd.Context(), o) }
	return cmd
}
