package load

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strings"

	vegeta "github.com/tsenart/vegeta/v12/lib"

	"schedlab/internal/measuring/arrivals"
)

// Limits of a file of targets, in bytes.
const (
	maxTargetFile = 10 << 20
	maxTargetLine = 64<<10 - 1 // of the format http: vegeta silently stops at a longer line
)

// ReadTargets reads targets in one of vegeta's two formats.
//
//   - http: a line "METHOD URL", then header lines, then optionally "@file" naming the body, then an empty
//     line. A header's value may be empty. Lines that begin with # are skipped.
//   - json: an object in each line, with method, url, header (a map of lists) and body (in base64).
//
// A byte order mark and gzip are taken off: see arrivals.Text. ReadTargets refuses requests that the engines
// cannot send, and files beyond 10 MiB; errors begin with the line. When addr, host:port, is not empty, it
// replaces the hosts that the file names, and a URL may be just "/path".
func ReadTargets(r io.Reader, addr string) ([]Target, error) {
	in, err := arrivals.Text(r)
	if err != nil {
		return nil, fmt.Errorf("reading targets: %w", err)
	}
	text, err := io.ReadAll(io.LimitReader(in, maxTargetFile+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("reading targets: %w", err)
	case len(text) > maxTargetFile:
		return nil, fmt.Errorf("reading targets: more than %d bytes; split the file", maxTargetFile)
	}
	p := targetParser{addr: addr}
	for line := range bytes.Lines(text) {
		p.number++
		p.at = p.number
		if err := p.line(strings.TrimSpace(string(line))); err != nil {
			return nil, fmt.Errorf("reading targets: line %d: %w", p.at, err)
		}
	}
	if err := p.end(); err != nil {
		return nil, fmt.Errorf("reading targets: line %d: %w", p.at, err)
	}
	if len(p.targets) == 0 {
		return nil, errors.New("reading targets: no targets to attack; write a line like GET http://127.0.0.1:8080/")
	}
	return p.targets, nil
}

// A targetParser holds the targets that have been read so far.
type targetParser struct {
	targets []Target
	addr    string
	number  int     // of the present line, from 1
	at      int     // the line that an error is about
	json    bool    // the first target is in JSON, and so are all
	open    *Target // its header may go on, nil between targets
	began   int     // the line in which open began
}

// requestLine matches a line that begins a target: a word in upper case that is no header's name.
var requestLine = regexp.MustCompile(`^[A-Z]+\s+[^:\s]`)

// line adds a line without white space at its ends.
func (p *targetParser) line(text string) error {
	switch {
	case strings.HasPrefix(text, "#"):
		return nil
	case text == "":
		return p.end()
	case p.json || len(p.targets) == 0 && p.open == nil && text[0] == '{':
		p.json = true
		return p.object(text)
	// A longer line is the end of the file for vegeta.
	case len(text) > maxTargetLine:
		return fmt.Errorf("%d bytes, at most %d are read; put a long body into a file and name it with @", len(text), maxTargetLine)
	case p.open == nil || requestLine.MatchString(text):
		if err := p.end(); err != nil {
			return err
		}
		return p.request(text)
	}
	if name, is := strings.CutPrefix(text, "@"); is {
		body, err := os.ReadFile(name)
		if err != nil {
			return fmt.Errorf("bad body: %w", err)
		}
		p.open.Body = body
		return p.end()
	}
	name, value, found := strings.Cut(text, ":")
	if name = strings.TrimSpace(name); !found || name == "" {
		return fmt.Errorf("bad header: %.80q; want Name: value", text)
	}
	// Names keep their spelling, since some servers tell upper from lower case.
	p.open.Header[name] = append(p.open.Header[name], strings.TrimSpace(value))
	return nil
}

// request begins a target of the format http.
func (p *targetParser) request(text string) error {
	method, address, found := strings.Cut(text, " ")
	switch address = strings.TrimSpace(address); {
	case !found || address == "":
		return fmt.Errorf("bad target: %.80q; want METHOD URL", text)
	case strings.ToUpper(method) != method:
		return fmt.Errorf("bad method: %.40q; write it in upper case", method)
	}
	if _, err := url.ParseRequestURI(address); err != nil {
		return fmt.Errorf("bad URL: %.80q: %w", address, err)
	}
	p.open, p.began = &Target{Method: method, URL: address, Header: http.Header{}}, p.number
	return nil
}

// object adds a target of the format json.
func (p *targetParser) object(text string) error {
	var t struct {
		Method string      `json:"method"`
		URL    string      `json:"url"`
		Body   []byte      `json:"body"`
		Header http.Header `json:"header"`
	}
	d := json.NewDecoder(strings.NewReader(text))
	d.DisallowUnknownFields() // as vegeta's schema of the format says
	err := d.Decode(&t)
	if err == nil && d.More() {
		err = errors.New("more after the object")
	}
	switch {
	case err != nil:
		return fmt.Errorf("%w; want one JSON object a line, with method, url, header (a map of lists) and body (in base64)", err)
	case t.Method == "":
		return errors.New("no method")
	case t.URL == "":
		return errors.New("no url")
	case t.Header == nil:
		t.Header = http.Header{}
	}
	p.open, p.began = &Target{Method: t.Method, URL: t.URL, Header: t.Header, Body: t.Body}, p.number
	return p.end()
}

// end adds the open target, if there is one. Its error is about the line in which the target began.
func (p *targetParser) end() error {
	if p.open == nil {
		return nil
	}
	t := *p.open
	p.open, p.at = nil, p.began
	given := t.URL
	if p.addr != "" {
		t = t.At(p.addr)
	}
	// The template is only a check; the load renders the targets again.
	tp, err := t.template(true)
	if err == nil && p.addr != "" && tp.tls {
		err = fmt.Errorf("scheme \"https\" of %q; write http, and tell how the server is asked before its command or address, as in 'tls=insecure ./server {addr}'", given)
	}
	if err != nil {
		return err
	}
	p.targets, p.at = append(p.targets, t), p.number
	return nil
}

// WriteTargets writes targets as vegeta reads them and returns the format's name. That is
// http, or json when a target has a body or an empty header: the format http takes bodies only from
// files, and vegeta takes no empty value in it.
func WriteTargets(w io.Writer, targets []Target) (format string, err error) {
	var b bytes.Buffer
	format = vegeta.HTTPTargetFormat
	if slices.ContainsFunc(targets, onlyJSON) {
		format = vegeta.JSONTargetFormat
	}
	encode := vegeta.NewJSONTargetEncoder(&b)
	for i, t := range targets {
		// The JSON encoder writes a line for each target; the format http needs an empty line between two.
		if format == vegeta.JSONTargetFormat {
			if err := encode(&vegeta.Target{Method: t.Method, URL: t.URL, Header: t.Header, Body: t.Body}); err != nil {
				return "", fmt.Errorf("writing target %d: %w", i+1, err)
			}
			continue
		}
		if i > 0 {
			b.WriteByte('\n')
		}
		fmt.Fprintf(&b, "%s %s\n", t.Method, t.URL)
		// The order is fixed, so that a target is always written the same.
		for _, name := range slices.Sorted(maps.Keys(t.Header)) {
			for _, value := range t.Header[name] {
				fmt.Fprintf(&b, "%s: %s\n", name, value)
			}
		}
	}
	if _, err := b.WriteTo(w); err != nil {
		return "", fmt.Errorf("writing targets: %w", err)
	}
	return format, nil
}

// onlyJSON reports whether vegeta reads a target in the format json alone.
func onlyJSON(t Target) bool {
	for _, values := range t.Header {
		if slices.Contains(values, "") {
			return true
		}
	}
	return len(t.Body) > 0
}
