package attack

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"

	"schedlab/internal/arrivals"
	"schedlab/internal/load"
)

// Asked returns what is asked without a scenario: of a URL, or what a file in vegeta's http format
// says, "-" for stdin. Headers are written "Name: value", and a body may be @FILE. Errors name the flag.
func Asked(target, file, method, body string, headers []string, stdin io.Reader) ([]load.Target, error) {
	header := http.Header{}
	for _, h := range headers {
		name, value, ok := strings.Cut(h, ":")
		if !ok {
			return nil, fmt.Errorf("--header %q is not 'Name: value'", h)
		}
		header.Add(strings.TrimSpace(name), strings.TrimSpace(value))
	}
	if file == "" {
		text := []byte(body)
		if name, ok := strings.CutPrefix(body, "@"); ok {
			var err error
			if text, err = os.ReadFile(name); err != nil {
				return nil, fmt.Errorf("--body: %w", err)
			}
		}
		return []load.Target{{Method: method, URL: target, Header: header, Body: text}}, nil
	}
	if file != "-" {
		in, err := os.Open(file)
		if err != nil {
			return nil, fmt.Errorf("--targets: %w", err)
		}
		defer in.Close()
		stdin = in
	}
	targets, err := load.ReadTargets(bufio.NewReader(stdin), "")
	if err != nil {
		return nil, fmt.Errorf("--targets %s: %w", file, err)
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

// LogAsks is the error of a log beside something else that tells what is asked.
func LogAsks(log arrivals.Process) error {
	return fmt.Errorf("with --arrivals %s give the server as --target http://host:port, and nothing else of the requests: the log says what is asked", log)
}

// Logged returns what an access log asks, of a server.
func Logged(from arrivals.Process, log *arrivals.AccessLog, server string) (targets []load.Target, err error) {
	u, err := url.Parse(server)
	if err != nil || u.Host == "" || strings.Trim(u.Path, "/") != "" {
		return nil, LogAsks(from)
	}
	for _, t := range load.LogTargets(log) {
		targets = append(targets, t.At(u.Host))
	}
	Secured(targets, u)
	return targets, nil
}

// Secured has targets ask by https if the server was given with https.
func Secured(targets []load.Target, server *url.URL) {
	for i, t := range targets {
		if rest, plain := strings.CutPrefix(t.URL, "http://"); plain && server.Scheme == "https" {
			targets[i].URL = "https://" + rest
		}
	}
}
