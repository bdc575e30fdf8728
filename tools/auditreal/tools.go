package main

import (
	"fmt"
	"net/url"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
)

// A tool is a load tool, and how its command lines are drawn.
type tool struct {
	name    string
	program string // in bin/ or in PATH
	release string // a shell command that prints its version, with % for the program
	draw    func(d draw, g *target) string
	tcp     bool // it can load plain TCP

	path    string // of the program; "" where it is not here
	version string
	missing string // why it is not here
}

// tools are all tools, in the order of the table.
var tools = []*tool{
	{name: "wrk", program: "wrk", release: "% -v", draw: wrk},
	{name: "wrk2", program: "wrk2", release: "% -v", draw: wrk2},
	{name: "ab", program: "ab", release: "% -V", draw: ab},
	{name: "hey-0.1.4", program: "hey", release: `go version -m % | grep -E '^\s(mod|dep)\s\S*/hey\s'`, draw: hey},
	{name: "hey-0.1.5", program: "hey-0.1.5/hey", release: `go version -m % | grep -E '^\s(mod|dep)\s\S*/hey\s'`, draw: hey},
	{name: "h2load", program: "h2load", release: "% --version", draw: h2load},
	{name: "httperf", program: "httperf", release: "% --version", draw: httperf},
	{name: "fortio", program: "fortio", release: "% version -s", draw: fortio, tcp: true},
	{name: "bombardier", program: "bombardier", release: `go version -m % | grep -E '^\s(mod|dep)\s\S*/bombardier\s'`, draw: bombardier},
	{name: "vegeta", program: "vegeta", release: `go version -m % | grep -E '^\s(mod|dep)\s\S*/vegeta/v12\s'`, draw: vegeta},
	{name: "oha", program: "oha", release: "% --version", draw: oha},
	{name: "k6", program: "k6", release: "% version", draw: k6},
}

var versionNumber = regexp.MustCompile(`\d+\.\d+(?:\.\d+)?`)

// find looks for the programs and their versions, and returns the tools that are here.
func find(all []*tool) (here []*tool) {
	for _, t := range all {
		path := filepath.Join("bin", t.program)
		if _, err := exec.LookPath("./" + path); err != nil {
			if path, err = exec.LookPath(t.program); err != nil {
				t.missing = fmt.Sprintf("%s is neither in bin/ nor in PATH", t.program)
				continue
			}
			path = t.program
		}
		t.path = path
		// Some print their version with an exit code other than 0.
		printed, _ := exec.Command("bash", "-c", strings.ReplaceAll(t.release, "%", path)).CombinedOutput()
		t.version = versionNumber.FindString(string(printed))
		here = append(here, t)
	}
	return here
}

func (t *tool) line(d draw, g *target) string {
	if g.tcp() && !t.tcp {
		panic(t.name + " cannot load " + g.url) // target has seen to that
	}
	return strings.ReplaceAll(t.draw(d, g), "%", t.path)
}

// Each of these returns a command line, with % for the program. None runs for more than two seconds or so, and
// no request for more than one: a target may never answer.

func wrk(d draw, g *target) string {
	threads := d.between(1, 3)
	return fmt.Sprintf("%% -t%d -c%d -d%ds%s%s '%s'", threads, d.between(threads, 24), d.between(1, 2),
		d.maybe(2, "--latency"), d.maybe(3, "--timeout 1s"), g.url)
}

func wrk2(d draw, g *target) string {
	threads := d.between(1, 3)
	return fmt.Sprintf("%% -t%d -c%d -d%ds -R%d%s '%s'", threads, d.between(threads, 24), d.between(1, 2), d.between(1, 2000),
		d.maybe(2, "--latency", "-U"), g.url)
}

func ab(d draw, g *target) string {
	n, c := d.load(g)
	load := fmt.Sprintf("-n %d", n)
	if d.IntN(5) == 0 {
		load = "-t 1"
	}
	return fmt.Sprintf("%% %s -c %d -s 1%s%s%s%s%s%s '%s'", load, c,
		d.maybe(2, "-k"), d.maybe(3, "-l"), d.maybe(3, "-r"), d.maybe(3, "-q"), d.maybe(5, "-S", "-d"), d.maybe(8, "-i"), g.url)
}

func hey(d draw, g *target) string {
	n, c := d.load(g)
	load, rate := fmt.Sprintf("-n %d", n), d.maybe(4, fmt.Sprintf("-q %d", d.between(n/c+1, n/c+100)))
	if d.IntN(4) == 0 {
		load = d.one("-z 300ms", "-z 1s", "-z 1500ms")
	}
	return fmt.Sprintf("%% %s -c %d -t 1%s%s%s '%s'", load, c, rate, d.maybe(5, "-disable-keepalive"), d.maybe(8, "-m HEAD"), g.url)
}

func h2load(d draw, g *target) string {
	n, c := d.load(g)
	load, threads := fmt.Sprintf("-n %d -c %d", n, c), d.between(1, min(c, 3))
	switch d.IntN(6) {
	case 0:
		load = fmt.Sprintf("-D 1 -c %d%s", c, d.maybe(2, "--warm-up-time=1"))
	case 1: // connections per second: one at least for each thread, and no more than there are
		load += fmt.Sprintf(" -r %d", d.between(max(threads, (c+1)/2), c))
	case 2:
		load += fmt.Sprintf(" --rps=%d", d.between(n/c+1, n/c+100))
	}
	protocol := " --h1"
	if g.h2c {
		protocol = d.maybe(2, "--h1")
	}
	return fmt.Sprintf("%% %s -t %d -N 1%s%s '%s'", load, threads, d.maybe(3, "-m 2", "-m 10"), protocol, g.url)
}

func httperf(d draw, g *target) string {
	u, err := url.Parse(g.url)
	if err != nil {
		panic(err) // the url is our own
	}
	n, c := d.load(g)
	calls := n/c + 1
	load := fmt.Sprintf("--num-conns %d --num-calls %d", c, calls)
	if d.IntN(5) == 0 {
		load = fmt.Sprintf("--wsess %d,%d,0.0%d", c, min(calls, 5), d.between(1, 9))
	}
	if d.IntN(3) > 0 || g.each > 0 { // without a rate one connection follows another
		load += fmt.Sprintf(" --rate %d", d.between(c, 10*c))
	}
	return fmt.Sprintf("%% --server %s --port %s --uri '%s' %s --timeout 1%s", u.Hostname(), u.Port(), u.RequestURI(), load, d.maybe(2, "--hog"))
}

func fortio(d draw, g *target) string {
	n, c := d.load(g)
	load := fmt.Sprintf("-n %d -qps %s", n, d.one("0", fmt.Sprint(d.between(n, 10*n))))
	if d.IntN(2) == 0 {
		load = fmt.Sprintf("-t %s -qps %s", d.one("300ms", "1s"), d.one("0", "1", "20", "200", "5000"))
	}
	line := fmt.Sprintf("%% load %s -c %d -timeout 1s -allow-initial-errors%s%s%s%s%s%s", load, c,
		d.maybe(2, "-quiet"), d.maybe(4, "-uniform"), d.maybe(5, "-nocatchup"), d.maybe(5, "-stdclient", "-keepalive=false"),
		d.maybe(3, "-r 0.0001", "-r 0.00001"), d.maybe(3, "-p 50,99,99.9", "-p 1,25,50,75"))
	if d.IntN(3) == 0 {
		return fmt.Sprintf("%s -json - '%s' 2>/dev/null", line, g.url)
	}
	return fmt.Sprintf("%s '%s'", line, g.url)
}

func bombardier(d draw, g *target) string {
	n, c := d.load(g)
	load := fmt.Sprintf("-n %d", n)
	if d.IntN(3) == 0 {
		load = d.one("-d 1s", "-d 1500ms") // at least 1 s
	}
	rate := d.maybe(4, fmt.Sprintf("-r %d", d.between(n, 10*n)))
	return fmt.Sprintf("%% %s -c %d -t 1s%s%s%s%s '%s'", load, c, rate, d.maybe(2, "-l"), d.maybe(3, "--http1", "--http2"),
		d.maybe(2, "-p i,r", "-p r", "-p r -o json", "-p i,p,r -o json"), g.url)
}

func vegeta(d draw, g *target) string {
	// A rate may name a unit of time, so that runs of one or two requests can be short.
	load := fmt.Sprintf("-rate=%s -duration=%s", d.one("1", "2", "10", "25/100ms", "100", "500", "1000"), d.one("1ms", "20ms", "300ms", "1s"))
	if d.IntN(5) == 0 {
		load = fmt.Sprintf("-rate=0 -max-workers=%d -duration=%s", d.between(1, 16), d.one("20ms", "300ms"))
	}
	return fmt.Sprintf("echo 'GET %s' | %% attack %s -timeout=1s%s%s | %% report%s", g.url, load,
		d.maybe(4, "-keepalive=false"), d.maybe(4, "-workers=1 -max-workers=4", "-connections=2"), d.maybe(2, "-type=json"))
}

func oha(d draw, g *target) string {
	n, c := d.load(g)
	load := fmt.Sprintf("-n %d", n)
	if d.IntN(3) == 0 {
		load = d.one("-z 300ms", "-z 1s", "-z 1500ms")
	}
	rate := d.maybe(4, fmt.Sprintf("-q %d", d.between(n, 10*n)), fmt.Sprintf("-q %d --latency-correction", d.between(n, 10*n)))
	return fmt.Sprintf("%% --no-tui %s -c %d -t 1s%s%s%s '%s'", load, c, rate, d.maybe(5, "--disable-keepalive"), d.maybe(3, "--output-format json"), g.url)
}

func k6(d draw, g *target) string {
	n, c := d.load(g)
	load := fmt.Sprintf("--iterations %d", n)
	if d.IntN(3) == 0 {
		load = "--duration 1s"
	}
	script := fmt.Sprintf(`import http from "k6/http"; import { check, sleep } from "k6"; export default function () {`+
		` const r = http.get("%s", { timeout: "1s" }); check(r, { "is 200": (r) => r.status === 200 });%s }`, g.url, d.maybe(3, "sleep(0.02);"))
	return fmt.Sprintf("echo '%s' | %% run --vus %d %s%s%s -", script, c, load,
		d.maybe(2, "--quiet"), d.maybe(2, "--summary-mode=full", "--summary-mode=legacy"))
}
