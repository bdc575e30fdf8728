package main

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/jsonschema-go/jsonschema"

	"schedlab/internal/capabilities/audit"
	"schedlab/internal/capabilities/session"
	"schedlab/internal/shared/outcome"
)

// What real tools print of a sound run, of a server that is not pressed, is read to the
// last line, and no law finds it impossible or suspicious. A run in which the tool by its own figures fell
// behind the rate that it offered is not sound: it is measured again, at most five times in all.
func TestAuditOfRealTools(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		time.Sleep(2 * time.Millisecond)
		_, _ = io.WriteString(w, "ok\n")
	}))
	t.Cleanup(server.Close)
	host, port, _ := strings.Cut(strings.TrimPrefix(server.URL, "http://"), ":")

	root, bin := moduleRoot(t), t.TempDir()
	build := func(dir string, args ...string) {
		cmd := exec.Command("go", append([]string{"build", "-o", bin + "/"}, args...)...)
		cmd.Dir = dir
		output(t, cmd)
	}
	// How fast they are is not asked, so they are not optimized, which takes little more than half of the time.
	build(filepath.Join(root, "tools"), "-ldflags=-s -w", "-gcflags=all=-N -l -dwarf=false", "-gcflags=std=", "github.com/rakyll/hey", "github.com/codesenberg/bombardier", "fortio.org/fortio")
	build(root, "github.com/tsenart/vegeta/v12")
	own := func(name string, args ...string) func() *exec.Cmd {
		return func() *exec.Cmd { return exec.Command(filepath.Join(bin, name), args...) }
	}
	debian := func(name string, args ...string) func() *exec.Cmd {
		return func() *exec.Cmd { return exec.Command(need(t, name), args...) }
	}
	vegeta := func(kind string) func() *exec.Cmd {
		return func() *exec.Cmd {
			attack := own("vegeta", "attack", "-rate=200", "-duration=1s")()
			attack.Stdin = strings.NewReader("GET " + server.URL + "/\n")
			report := own("vegeta", "report", "-type="+kind)()
			report.Stdin = strings.NewReader(output(t, attack))
			return report
		}
	}
	for _, c := range []struct {
		name, tool string
		cmd        func() *exec.Cmd // a new one for each run
		figures    []string         // that it must have, among others
	}{
		{"wrk", "wrk", debian("wrk", "-t2", "-c8", "-d1s", "--latency", server.URL), []string{"connections", "rate", "stdev", "p50", "p99"}},
		{"ab", "ab", debian("ab", "-q", "-k", "-n", "1000", "-c", "8", server.URL+"/"), []string{"connections", "seconds", "rate", "bytes", "p99"}},
		{"httperf", "httperf", debian("httperf", "--server="+host, "--port="+port, "--uri=/", "--rate=10", "--num-conns=10", "--num-calls=2"), []string{"concurrent", "seconds", "rate", "offered", "cpu"}},
		{"h2load", "h2load", debian("h2load", "--h1", "-n", "1000", "-c", "8", "-t", "2", server.URL), []string{"connections", "seconds", "rate", "ok", "stdev"}},
		{"hey", "hey", own("hey", "-z", "1s", "-c", "8", server.URL), []string{"seconds", "rate", "status_2xx", "p99"}},
		{"bombardier", "bombardier", own("bombardier", "-d", "1s", "-c", "8", "-l", server.URL), []string{"connections", "status_2xx", "p99"}},
		{"bombardier JSON", "bombardier", own("bombardier", "-d", "1s", "-c", "8", "-l", "-p", "r", "-o", "json", server.URL), []string{"connections", "seconds", "bytes", "p99"}},
		{"fortio JSON", "fortio", own("fortio", "load", "-qps", "20", "-c", "4", "-t", "1s", "-quiet", "-json", "-", server.URL), []string{"connections", "offered", "rate", "sum", "p99.9"}},
		{"fortio", "fortio", func() *exec.Cmd { // which writes its report to standard error
			return exec.Command("sh", "-c", filepath.Join(bin, "fortio")+" load -qps 20 -c 4 -t 1s -quiet "+server.URL+" 2>&1")
		}, []string{"offered", "rate", "sum", "status_2xx", "p99.9"}},
		{"vegeta", "vegeta", vegeta("text"), []string{"requests", "seconds", "status_2xx", "p99"}},
		{"vegeta JSON", "vegeta", vegeta("json"), []string{"requests", "seconds", "sum", "p99"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			// A run in which a busy machine kept the tool from its rate is not sound, and is measured again. The last one is
			// judged, sound or not.
			var printed string
			var text *audit.Text
			for range 5 {
				printed = output(t, c.cmd())
				var err error
				if text, err = audit.Read(strings.NewReader(printed)); err != nil {
					t.Fatalf("%v in\n%s", err, printed)
				}
				if len(text.Claims) != 1 || text.Claims[0].Tool != c.tool || len(text.Unread) > 0 {
					t.Fatalf("got %d runs, lines %v not read, of\n%s", len(text.Claims), text.Unread, printed)
				}
				rate, told := text.Claims[0].Figures["rate"]
				if offered := text.Claims[0].Figures["offered"]; !told || rate.Value >= offered.Value*0.99 {
					break
				}
			}
			for _, name := range c.figures {
				if _, ok := text.Claims[0].Figures[name]; !ok {
					t.Errorf("no figure %s in\n%s", name, printed)
				}
			}
			for _, f := range audit.Judge(text, audit.Given{}).Findings {
				if f.Outcome != outcome.Open {
					t.Errorf("%s: %s %v, of\n%s", f.Outcome, f.Code, f.Numbers, printed)
				}
			}
		})
	}
}

// The document that --output json prints is what its schema says.
func TestAuditKeepsTheSchema(t *testing.T) {
	t.Parallel()
	var stdout, stderr bytes.Buffer
	if code := run(t.Context(), []string{"audit", filepath.Join("..", "..", "internal", "capabilities", "audit", "testdata", "seed-004.txt"), "--output", "json"}, &stdout, &stderr); code != session.NotKept {
		t.Fatalf("exit code %d: %s", code, stderr.String())
	}
	var document any
	if err := json.Unmarshal(stdout.Bytes(), &document); err != nil {
		t.Fatal(err)
	}
	kept, err := os.ReadFile(filepath.Join("..", "..", "docs", "reference", "schema", "audit.json"))
	if err != nil {
		t.Fatal(err)
	}
	var schema jsonschema.Schema
	if err := json.Unmarshal(kept, &schema); err != nil {
		t.Fatal(err)
	}
	resolved, err := schema.Resolve(nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := resolved.Validate(document); err != nil {
		t.Error(err)
	}
}
