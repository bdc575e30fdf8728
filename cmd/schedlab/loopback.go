package main

import (
	"context"
	"fmt"
	"net"
	"net/url"

	"schedlab/internal/scenario"
)

// onLoopback refuses to send load to other machines by mistake. what says whose
// address it is.
func onLoopback(ctx context.Context, what, address string) error {
	u, err := url.Parse(address)
	if err != nil {
		return usagef("%s %q: %w", what, address, err)
	}
	if u.Scheme != "http" || u.Host == "" {
		return usagef("%s %q is not a URL like http://127.0.0.1:8080/plaintext (no TLS)", what, address)
	}
	addrs, err := net.DefaultResolver.LookupIPAddr(ctx, u.Hostname())
	if err != nil {
		return usagef("%s %q: %w", what, address, err)
	}
	for _, a := range addrs {
		if !a.IP.IsLoopback() {
			return usagef("%s %q is not on loopback (%s); if the server and the network are yours, say --allow-remote", what, address, a.IP)
		}
	}
	return nil
}

// stayLocal refuses arms on other machines unless the command line allows them.
func (f *compareFlags) stayLocal(ctx context.Context, arms []scenario.Arm) error {
	if f.allowRemote {
		return nil
	}
	return armsOnLoopback(ctx, arms)
}

// armsOnLoopback is onLoopback for the arms that run already, and for where any
// of them shows its metrics, whatever the marks in that become.
func armsOnLoopback(ctx context.Context, arms []scenario.Arm) error {
	for _, a := range arms {
		for _, address := range []string{a.URL, a.MetricsURL()} {
			if address == "" {
				continue
			}
			if err := onLoopback(ctx, fmt.Sprintf("arm %q:", a.Name), address); err != nil {
				return err
			}
		}
	}
	return nil
}
