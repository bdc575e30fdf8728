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
	targets, err := load.ReadTargets(bufio.NewReader(in))
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

// onLoopback refuses to send load to other machines by mistake.
func (f *attackFlags) onLoopback(ctx context.Context, targets []load.Target) error {
	if f.allowRemote {
		return nil
	}
	checked := map[string]bool{} // of a log there may be many on one server
	for _, t := range targets {
		u, err := url.Parse(t.URL)
		if err == nil && checked[u.Host] {
			continue
		}
		if err := onLoopback(ctx, "--target", t.URL); err != nil {
			return err
		}
		checked[u.Host] = true
	}
	return nil
}
