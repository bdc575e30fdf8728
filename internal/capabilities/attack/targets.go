package attack

import (
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"os"
	"strings"

	"schedlab/internal/measuring/arrivals"
	"schedlab/internal/measuring/load"
)

// Asked returns the requests of an attack without a scenario. There is one for the URL target, or,
// if file is not "", one for each entry of that file in vegeta's formats http or json; the file "-" is stdin.
// With both, target is the server that all of the file's requests go to, and has no path. Each header is written "Name: value" and overrides the file's header of that name, however that is spelled. A body that
// begins with @ is the name of the file to send. method and body are ignored with a file. Errors
// name the flag.
func Asked(target, file, method, body string, headers []string, stdin io.Reader) ([]load.Target, error) {
	// Add makes names canonical, so that flags of one name add up.
	header := http.Header{}
	for _, h := range headers {
		name, value, ok := strings.Cut(h, ":")
		if !ok {
			return nil, fmt.Errorf("--header %q is not 'Name: value'", h)
		}
		header.Add(strings.TrimSpace(name), strings.TrimSpace(value))
	}
	// One URL: its body may be in a file. In a file of targets, vegeta itself reads such a body.
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
	// Without an address the file names the servers.
	server, err := url.Parse(target)
	if target != "" && (err != nil || server.Host == "" || strings.Trim(server.Path, "/") != "") {
		return nil, fmt.Errorf("with --targets %s give the server alone, as --target http://host:port: the file has the paths", file)
	}
	targets, err := load.ReadTargets(stdin, server.Host)
	if err != nil {
		return nil, fmt.Errorf("--targets %s: %w", file, err)
	}
	for i := range targets {
		if targets[i].Header == nil {
			targets[i].Header = http.Header{}
		}
		// A file's names keep their spelling, and those of the flags are canonical.
		maps.DeleteFunc(targets[i].Header, func(name string, _ []string) bool { return header[http.CanonicalHeaderKey(name)] != nil })
		maps.Copy(targets[i].Header, header)
	}
	if target != "" {
		targets = Secured(targets, server)
	}
	return targets, nil
}

// LogAsks returns the error for an access log that is combined with other flags about the requests.
func LogAsks(log arrivals.Process) error {
	return fmt.Errorf("with --arrivals %s give the server as --target http://host:port, and nothing else of the requests: the log says what is asked", log)
}

// Logged returns the distinct requests of an access log, directed at server, a URL without a path.
// from is the --arrivals that named the log.
func Logged(from arrivals.Process, log *arrivals.AccessLog, server string) (targets []load.Target, err error) {
	// A path would be ambiguous, since the log has the paths.
	u, err := url.Parse(server)
	if err != nil || u.Host == "" || strings.Trim(u.Path, "/") != "" {
		return nil, LogAsks(from)
	}
	for _, t := range load.LogTargets(log) {
		targets = append(targets, t.At(u.Host))
	}
	return Secured(targets, u), nil
}

// Secured returns targets with https in place of http, if the server's URL has https.
//
// The targets of a log or scenario are made with http, because load.Target.At writes it.
func Secured(targets []load.Target, server *url.URL) []load.Target {
	return load.Secured(targets, server.Scheme == "https")
}
