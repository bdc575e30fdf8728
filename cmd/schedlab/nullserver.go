package main

import (
	"fmt"
	"net"
	"time"

	"github.com/spf13/cobra"

	"schedlab/internal/experiment"
	"schedlab/internal/load/null"
)

// newNullServer is what the load measures itself by; nobody calls it by hand.
func newNullServer() *cobra.Command {
	var addr string
	var service time.Duration
	var stations int
	cmd := &cobra.Command{
		Use:    experiment.NullServer,
		Short:  "Serve the same short reply to everything, for the load's own floor",
		Hidden: true,
		Args:   cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			ln, err := net.Listen("tcp4", addr)
			if err != nil {
				return err
			}
			fmt.Fprintf(cmd.ErrOrStderr(), "{\"addr\":%q}\n", ln.Addr()) // for tools/peers
			return null.Serve(cmd.Context(), ln.(*net.TCPListener), service, stations)
		},
	}
	cmd.Flags().DurationVar(&service, "service", 0, "how long a request takes")
	cmd.Flags().IntVar(&stations, "stations", 0, "how many requests are served at a time (0: any number)")
	cmd.Flags().StringVar(&addr, "addr", "127.0.0.1:8080", "address to listen on")
	return cmd
}
