package main

import (
	"bufio"
	"context"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"

	"schedlab/internal/load"
	"schedlab/internal/record"
)

// asked are the targets without a scenario.
func (f *attackFlags) asked(sum *record.Attack) ([]load.Target, error) {
	header := http.Header{}
	for _, h := range f.headers {
		name, value, ok := strings.Cut(h, ":")
		if !ok {
			return nil, usagef("--header %q is not 'Name: value'", h)
		}
		header.Add(strings.TrimSpace(name), strings.TrimSpace(value))
	}
	if f.targets == "" {
		body := []byte(f.body)
		if name, ok := strings.CutPrefix(f.body, "@"); ok {
			var err error
			if body, err = os.ReadFile(name); err != nil {
				return nil, usagef("--body: %w", err)
			}
		}
		sum.Target = f.target
		return []load.Target{{Method: f.method, URL: f.target, Header: header, Body: body}}, nil
	}
	sum.Target = f.targets
	in := io.Reader(os.Stdin)
	if f.targets != "-" {
		file, err := os.Open(f.targets)
		if err != nil {
			return nil, usagef("--targets: %w", err)
		}
		defer file.Close()
		in = file
	}
	targets, err := load.ReadTargets(bufio.NewReader(in), "")
	if err != nil {
		return nil, usagef("--targets %s: %w", f.targets, err)
	}
	for i := range targets {
		for name, values := range header {
			if targets[i].Header == nil {
				targets[i].Header = http.Header{}
			}
			targets[i].Header[name] = values
		}
	}
	return targets, nil
}

// onLoopback refuses to send load to other machines by mistake, and https with an
// engine that does not speak it.
func (f *attackFlags) onLoopback(ctx context.Context, targets []load.Target) error {
	checked := map[string]bool{} // of a log there may be many on one server
	for _, t := range targets {
		u, err := url.Parse(t.URL)
		switch {
		case err != nil:
			return usagef("--target %q: %w", t.URL, err)
		case checked[u.Scheme+u.Host]:
			continue
		case u.Scheme == "https" && f.engine != load.EngineVegeta:
			return usagef("--target %q is https, which only --engine vegeta speaks; add that, in an open loop", t.URL)
		case u.Scheme == "https":
			u.Scheme = "http" // for all that is checked below
		}
		if f.allowRemote {
			continue
		}
		if err := onLoopback(ctx, "--target", u.String()); err != nil {
			return err
		}
		checked[u.Scheme+u.Host] = true
	}
	return nil
}
