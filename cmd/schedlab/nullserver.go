package main

import (
	"github.com/spf13/cobra"

	"schedlab/internal/experiment"
	"schedlab/internal/load/null"
)

// newNullServer is what the load measures itself by; nobody calls it by hand.
func newNullServer() *cobra.Command {
	var addr string
	cmd := &cobra.Command{
		Use:    experiment.NullServer,
		Short:  "Serve the same short reply to everything, for the load's own floor",
		Hidden: true,
		Args:   cobra.NoArgs,
		RunE:   func(cmd *cobra.Command, _ []string) error { return null.Serve(cmd.Context(), addr) },
	}
	cmd.Flags().StringVar(&addr, "addr", "127.0.0.1:8080", "address to listen on")
	return cmd
}
