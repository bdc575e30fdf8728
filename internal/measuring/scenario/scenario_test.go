package scenario

import (
	"fmt"
	"io/fs"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"schedlab/internal/measuring/load"
	"schedlab/internal/measuring/scenario/demo"
	"schedlab/internal/shared/stats"
	"schedlab/loadtests"
)

func TestEmbeddedScenariosParse(t *testing.T) {
	t.Parallel()
	files, err := fs.Glob(loadtests.Scenarios, "*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("embedded scenarios: %v, %v", files, err)
	}
	for _, file := range files {
		text, err := loadtests.Scenarios.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		s, err := Parse(file, text)
		if err != nil {
			t.Error(err)
		}
		if s.Name+".yaml" != file || s.Source != string(text) {
			t.Errorf("%s: got the name %q and %d bytes of source, want the file's own", file, s.Name, len(s.Source))
		}
	}
}

// wantError checks the message, and that it is one line without surprises.
func wantError(t *testing.T, name, text, want string) {
	t.Helper()
	_, err := Parse("f.yaml", []byte(text))
	want = strings.NewReplacer("{client keys}", strings.Join(clientKeys, ", "), "{keys}", strings.Join(keysOf(reflect.TypeFor[Scenario]()), ", "),
		"{load keys}", strings.Join(keysOf(reflect.TypeFor[Load]()), ", ")).Replace(want)
	if err == nil {
		t.Errorf("%s: got no error, want %q", name, want)
		return
	}
	if got := err.Error(); got != "f.yaml:"+want {
		t.Errorf("%s:\ngot  %s\nwant f.yaml:%s", name, got, want)
	}
}

func TestScenarioErrors(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, text, want string }{
		{"unknown key", demo.Swap("rate:", "rte:"), `6:3: load: unknown key "rte" (did you mean rate?)`},
		{"unknown section", demo.Text + "colour: red\n", `10:1: unknown key "colour" (want one of {keys})`},
		{"unknown key with an escape", demo.Text + `"\e[2J": red`, `10:1: unknown key "\x1b[2J" (want one of {keys})`},
		{"twice", demo.Text + "name: other\n", `10:1: mapping key "name" already defined at [1:1]`},
		{"section that is a number", demo.Swap("load:\n  rate: 300/s", "load: 5"), `5:7: load: want keys and values ({load keys}), not "5"`},
		{"section that is a list", demo.Swap("load:\n  rate: 300/s", "load: [5]"), "5:7: load: want keys and values ({load keys}), not a list"},
		{"section without a value", demo.Swap("load:\n  rate: 300/s", "load:"), "5:1: load: has no value; give one or leave the key out"},
		{"word for a number", demo.Swap("rate: 300/s", "rate: 300/s\n  connections: many"), `7:16: load.connections: "many" is not a whole number above 0`},
		{"fraction for a number", demo.Swap("rate: 300/s", "rate: 300/s\n  connections: 1.5"), `7:16: load.connections: "1.5" is not a whole number above 0`},
		{"zero", demo.Swap("rate: 300/s", "rate: 300/s\n  connections: 0"), `7:16: load.connections: "0" is not a whole number above 0`},
		{"negative", demo.Swap("rate: 300/s", "rate: 300/s\n  connections: -1"), `7:16: load.connections: "-1" is not a whole number above 0`},
		{"beyond 64 bits", demo.Swap("rate: 300/s", "rate: 300/s\n  connections: 99999999999999999999"), `7:16: load.connections: "99999999999999999999" is not a whole number above 0`},
		{"above the limit", demo.Swap("rate: 300/s", "rate: 300/s\n  keepalive: true\n  connections: 16385"), "8:16: load.connections: 16385 is above 16384, the most one load holds"},
		{"above the limit with idle ones", demo.Swap("rate: 300/s", "rate: 300/s\n  keepalive: true\n  connections: 384\n  idle: 16001"), "9:9: load.idle: 16001 beside 384 connections are above 16384, the most one load holds"},
		{"ramp of an open loop", demo.Swap("rate: 300/s", "rate: 300/s\n  ramp: 2s"), "7:9: load.ramp: belongs to loop: closed"},
		{"neither true nor false", demo.Swap("rate: 300/s", "rate: 300/s\n  keepalive: maybe"), `7:14: load.keepalive: "maybe" is neither true nor false`},
		{"list for a name", demo.Swap("name: demo", "name: [demo]"), "1:7: name: want one value, not a list"},
		{"bad name", demo.Swap("name: demo", "name: De mo"), `1:7: name: "De mo" is not a name of lower-case letters, digits and dashes, up to 40`},
		{"no name", demo.Swap("name: demo\n", ""), "1:1: name: is missing: a short name for the records, like my-service"},
		{"no question", demo.Swap("question: Which is faster?\n", ""), "1:1: question: is missing: say in a sentence what the scenario asks"},
		{"blank question", demo.Swap("Which is faster?", "'  '"), "2:11: question: is missing: say in a sentence what the scenario asks"},
		{"question of two lines", demo.Swap("Which is faster?", "|\n  One?\n  Two?"), "2:11: question: must be one line of plain text"},
		{"command with an escape", demo.Arm(`{name: x, command: "./x {addr} \e]0;hi\a"}`), `9:24: arms[1].command: "./x {addr} \x1b]0;hi\a" has the control character U+001B; leave it out`},
		{"question with an escape", demo.Swap("Which is faster?", `"\e[31mRed?"`), `2:11: question: "\x1b[31mRed?" has the control character U+001B; leave it out`},
		{"bad distribution", demo.Swap("100us", "norm(3ms)"), `4:8: workload.cpu: parsing demand "norm(3ms)": "norm(3ms)" is none of const(D), exp(D), lognormal(D,SCV)`},
		{"distribution without a unit", demo.Swap("100us", "100"), `4:8: workload.cpu: parsing demand "100": "100" is not a demand such as 200us, exp(200us), lognormal(200us,4) or 0.8*0s+0.2*10ms`},
		{"negative distribution", demo.Swap("100us", "-3ms"), `4:8: workload.cpu: parsing demand "-3ms": a demand cannot be negative`},
		{"mapping for a distribution", demo.Swap("100us", "{mean: 3ms}"), "4:8: workload.cpu: want one value, not keys and values"},
		{"path beside cpu", demo.Swap("cpu: 100us", "cpu: 100us\n  path: /plaintext"), "5:9: workload.path: excludes cpu and sleep, which ask /work"},
		{"relative path", demo.Swap("cpu: 100us", "path: plaintext"), `4:9: workload.path: "plaintext" does not begin with /`},
		{"bad method", demo.Swap("cpu: 100us", "method: get"), `4:11: workload.method: "get" is not a method`},
		{"bad rate", demo.Swap("300/s", "fast"), `6:9: load.rate: "fast" is not a rate: give requests per second like 3000/s (up to 1000000/s), or a share of the slowest arm's throughput like 0.7x`},
		{"rate without a unit", demo.Swap("300/s", "300"), `6:9: load.rate: "300" is not a rate: give requests per second like 3000/s (up to 1000000/s), or a share of the slowest arm's throughput like 0.7x`},
		{"negative rate", demo.Swap("300/s", "-300/s"), `6:9: load.rate: "-300/s" is not a rate: give requests per second like 3000/s (up to 1000000/s), or a share of the slowest arm's throughput like 0.7x`},
		{"absurd rate", demo.Swap("300/s", "1e12/s"), `6:9: load.rate: "1e12/s" is not a rate: give requests per second like 3000/s (up to 1000000/s), or a share of the slowest arm's throughput like 0.7x`},
		{"no rate", demo.Swap("rate: 300/s", "arrivals: constant"), "6:3: load.rate: is missing: give requests per second like 3000/s, or a share of the slowest arm's throughput like 0.7x"},
		{"no load", demo.Swap("load:\n  rate: 300/s\n", ""), "1:1: load.rate: is missing: give requests per second like 3000/s, or a share of the slowest arm's throughput like 0.7x"},
		{"relative floor", demo.Swap("rate: 300/s", "rate: 0.7x\n  min_rate: 0.1x"), "7:13: load.min_rate: must be absolute, like 1100/s"},
		{"unknown loop", demo.Swap("rate: 300/s", "rate: 300/s\n  loop: round"), `7:9: load.loop: "round" is none of open, closed`},
		{"clients of a closed loop", demo.Swap("rate: 300/s", "loop: closed"), `6:3: load.connections: is missing: a closed loop is that many clients`},
		{"share of a throughput for a closed loop", demo.Swap("rate: 300/s", "loop: closed\n  connections: 4\n  rate: 0.5x"), `8:9: load.rate: paces the clients of a closed loop in requests per second, like 4000/s, or is left out`},
		{"think in an open loop", demo.Swap("rate: 300/s", "rate: 300/s\n  think: 5ms"), `7:10: load.think: belongs to loop: closed`},
		{"too many retries", demo.Swap("rate: 300/s", "rate: 300/s\n  retries: 4"), `7:12: load.retries: "4" is not a number of retries from 0 to 3`},
		{"a deadline of a closed loop", demo.Swap("rate: 300/s", "loop: closed\n  connections: 4\n  deadline: 1s"), `8:13: load.deadline: belongs to an open loop`},
		{"backoff without retries", demo.Swap("rate: 300/s", "rate: 300/s\n  backoff: 1s"), `7:12: load.backoff: needs retries`},
		{"idle without kept connections", demo.Swap("rate: 300/s", "rate: 300/s\n  idle: 5"), `7:9: load.idle: connections stand beside an open loop with keepalive: true`},
		{"an arm's load", demo.Arm("{mode: nethttp, rate: fast}"), `9:5: arms[1]: rate: "fast" is not a rate: give requests per second like 3000/s (up to 1000000/s), or a share of the slowest arm's throughput like 0.7x`},
		{"an arm's session", demo.Arm("{mode: pool, session: 5}"), `9:5: arms[1]: load.session belongs to loop: closed`},
		{"varied load without a value", demo.Swap("rate: 300/s", "rate: 300/s\n  vary: {connections: []}"), `7:23: load.vary.connections: is empty; list the values, like [1, 4]`},
		{"varied protocol", demo.Swap("rate: 300/s", "rate: 300/s\n  vary: {blocks: [1]}"), `7:10: load.vary: unknown key "blocks" (want one of {client keys})`},
		{"unknown arrivals", demo.Swap("rate: 300/s", "rate: 300/s\n  arrivals: ramp"), `7:13: load.arrivals: arrivals "ramp": want ramp(FROM,TO), like ramp(500/s,3000/s) or ramp(0.5x,1.5x)`},
		{"connections not kept", demo.Swap("rate: 300/s", "rate: 300/s\n  connections: 5"), "7:16: load.connections: needs keepalive: true; without it every request opens its own connection"},
		{"zero duration", demo.Swap("rate: 300/s", "rate: 300/s\n  timeout: 0s"), `7:12: load.timeout: "0s" is not a duration like 200ms, above 0 and up to 24h`},
		{"ten years", demo.Swap("rate: 300/s", "rate: 300/s\n  timeout: 87600h"), `7:12: load.timeout: "87600h" is not a duration like 200ms, above 0 and up to 24h`},
		{"unknown protocol", demo.Text + "protocol: {kind: fast}\n", `10:18: protocol.kind: "fast" is none of quick, full`},
		{"too few blocks", demo.Text + "protocol: {blocks: 3}\n", "10:20: protocol.blocks: 3 is below 10, too few for any verdict"},
		{"too many blocks", demo.Text + "protocol: {blocks: 1001}\n", "10:20: protocol.blocks: 1001 is above 40, the last look"},
		{"short window", demo.Text + "protocol: {window: 10ms}\n", "10:20: protocol.window: is below 100ms"},
		{"unknown need", demo.Text + "needs: {cpus: 2}\n", `10:9: needs: unknown key "cpus" (want one of server_cpus)`},
	} {
		wantError(t, c.name, c.text, c.want)
	}
}

func TestNotAScenario(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, text, want string }{
		{"empty", "", "1:1: the file is empty; 'schedlab scenarios quick' prints one to start from"},
		{"comment", "# nothing\n", "1:1: the file is empty; 'schedlab scenarios quick' prints one to start from"},
		{"null", "null\n", "1:1: want keys and values ({keys}), not nothing"},
		{"words", "hello\n", `1:1: want keys and values ({keys}), not "hello"`},
		{"list", "- a\n", "1:1: want keys and values ({keys}), not a list"},
		{"tab", demo.Swap("  rate", "\trate"), "6:1: a tab where YAML wants blanks; indent with spaces"},
		{"byte order mark", "\ufeff" + demo.Text, "1:1: a byte order mark; save the file as UTF-8 without one"},
		{"invalid UTF-8", demo.Swap("faster?", "f\xffster?"), "2:21: byte 0xff is not UTF-8; save the file as UTF-8"},
		{"NUL", demo.Swap("faster?", "f\x00ster?"), "2:21: control character U+0000; remove it, or save the file as UTF-8"},
		{"UTF-16", "n\x00a\x00m\x00e\x00:\x00", "1:2: control character U+0000; remove it, or save the file as UTF-8"},
		{"too large", demo.Text + strings.Repeat("#", maxScenario), "1:1: larger than 1048576 bytes: not a scenario"},
		{"too many words", demo.Text + strings.Repeat("- a\n", maxTokens), "1:1: more than 10000 words and marks: not a scenario"},
		{"deep", "name: " + strings.Repeat("[", 5000) + strings.Repeat("]", 4900), "1:106: sequence end token ']' not found"},
		{"deeper", "name: " + strings.Repeat("[", 4000) + strings.Repeat("]", 4000), "1:7: name: want one value, not a list"},
		{"two documents", demo.Text + "---\n" + demo.Text, "11:1: a second document begins here; a file holds one"},
		{"open brace", demo.Arm("{mode: pool"), "9:5: could not find flow mapping end token '}'"},
		{"open quote", demo.Swap("Which is faster?", `"Which`), "2:11: could not find end character of double-quoted text"},
		{"indentation", demo.Swap("rate: 300/s", "rate: 300/s\n   loop: open"), "7:1: mapping value is not allowed in this context"},
		{"anchor", demo.Swap("demo", "&a demo"), "1:7: name: want one value, not an anchor or alias; write it out"},
		{"alias", demo.Swap("demo", "*a"), "1:7: name: want one value, not an anchor or alias; write it out"},
		{"merge", demo.Swap("rate: 300/s", "<<: {rate: 1/s}"), `6:3: load: unknown key "<<" (want one of {load keys})`},
		{"tag", demo.Swap("demo", "!!str demo"), "1:7: name: want one value, not a tag; leave it out"},
		{"complex key", "? a\n: b\n", `1:1: unknown key "?" (want one of {keys})`},
	} {
		wantError(t, c.name, c.text, c.want)
	}
}

func TestScenarioAccepts(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, text string
		want       func(s Scenario) bool
	}{
		{"windows line ends", strings.ReplaceAll(demo.Text, "\n", "\r\n"), func(s Scenario) bool { return s.Question == "Which is faster?" }},
		{"document marks", "---\n" + demo.Text + "...\n", func(s Scenario) bool { return s.Name == "demo" }},
		{"YAML version", "%YAML 1.2\n---\n" + demo.Text, func(s Scenario) bool { return s.Name == "demo" }},
		{"comments", "# first\n" + demo.Text + "# last\n", func(s Scenario) bool { return len(s.Arms) == 2 }},
		{"digits for a name", demo.Swap("demo", "12"), func(s Scenario) bool { return s.Name == "12" }},
		{"folded question", demo.Swap("Which is faster?", ">\n  Which is\n  faster?"), func(s Scenario) bool { return s.Question == "Which is faster?" }},
		{"defaults", demo.Text, func(s Scenario) bool {
			return s.Workload.Method == "GET" && s.Load.Loop == "open" && s.Load.Arrivals == "poisson" && s.Load.Connections == 0 &&
				s.Protocol == Protocol{} && time.Duration(s.Load.Timeout) == load.DefaultTimeout
		}},
		{"kept connections", demo.Swap("rate: 300/s", "rate: '3,000/s'\n  keepalive: true"), func(s Scenario) bool {
			return s.Load.Connections == 64 && s.Load.Rate == Rate{PerSecond: 3000}
		}},
		{"a relative rate", demo.Swap("300/s", "0.7x"), func(s Scenario) bool { return s.Load.Rate == Rate{OfSlowest: .7} && s.Load.Rate.String() == "0.7x" }},
		{"one arm varied", demo.Swap("  - nethttp\n  - fasthttp", "  - {mode: pool, vary: {workers: [1, 4]}}"), func(s Scenario) bool { return len(s.Arms) == 1 }},
		{"an arm's own connections", demo.Arm("{mode: fasthttp, keepalive: true}"), func(s Scenario) bool {
			return s.Load.Connections == 64 && !keeps(s, 0) && keeps(s, 1)
		}},
	} {
		s, err := Parse("f.yaml", []byte(c.text))
		if err != nil || !c.want(s) {
			t.Errorf("%s: got %+v, %v", c.name, s, err)
		}
	}
}

// Parsing must stay cheap and whole whatever the file holds.
func FuzzParseScenario(f *testing.F) {
	f.Add(demo.Text)
	f.Add(demo.Arm("{mode: pool, vary: {workers: [1, 4]}, keepalive: false}"))
	f.Add(demo.Arm("{name: x, command: './server {addr}'}"))
	f.Add("name: &a [*a, !!str b]\n---\n? c\n: |\n d\n")
	f.Add(strings.Repeat("[", 200) + strings.Repeat("{a: ", 200))
	f.Fuzz(func(t *testing.T, text string) {
		s, err := Parse("f.yaml", []byte(text))
		if err == nil {
			if s.Name == "" || s.Question == "" || len(s.Arms) == 0 || s.Source != text {
				t.Errorf("accepted an incomplete scenario: %+v", s)
			}
			return
		}
		if !oneLinePlace.MatchString(err.Error()) {
			t.Errorf("got %q, want one line that begins with file:line:column", err)
		}
	})
}

var oneLinePlace = regexp.MustCompile(`^f\.yaml:[1-9][0-9]*:[1-9][0-9]*: [^\pC]+$`)

// keeps reports whether the clients of an arm keep their connections.
func keeps(s Scenario, arm int) bool {
	l, err := s.Clients(s.Arms[arm])
	return err == nil && l.KeepAlive
}

func TestExpectationErrors(t *testing.T) {
	t.Parallel()
	expecting := func(text string) string { return demo.Text + "expect:\n  - '" + text + "'\n" }
	for _, c := range []struct{ name, expect, want string }{
		{"type", `p50("nethttp")`, `11:6: expect[0]: expected bool, but got float64`},
		{"word", `p51("nethttp") < 5ms`, `11:6: expect[0]: unknown name p51`},
		{"place after a quantity", `10ms < p50("nethttp") && 5ms < lag`, `11:37: expect[0]: unknown name lag`},
		{"arm", `p50("fasthttp") < p50("poool")`, `11:28: expect[0]: no arm "poool" (want one of nethttp, fasthttp)`},
		{"arm of a word the language has itself", `abs(mean("poool")) < 1ms`, `11:15: expect[0]: no arm "poool" (want one of nethttp, fasthttp)`},
		{"phase", `explained("queues") > 0.5`, `11:16: expect[0]: no phase "queues" (did you mean queue?)`},
		{"phase that is near none", `explained("network") > 0.5`, `11:16: expect[0]: no phase "network" (want one of lag, connect, build, accept, ingress, wakeup, parse, queue, handover, service, finish, egress, receive, cpu, sleep, unexplained, handler, client, kernel, run queue, http, interference)`},
		{"metric", `same("p95")`, `11:11: expect[0]: no metric "p95" (want one of ` + strings.Join(stats.Names(stats.Metrics()), ", ") + `)`},
		{"arguments", `faster("p50")`, `11:6: expect[0]: not enough arguments to call faster`},
		{"grammar", `p50("nethttp") <`, `11:21: expect[0]: unexpected token EOF`},
		{"the library's own words", `now() > 5`, `11:6: expect[0]: unknown name now`},
	} {
		wantError(t, c.name, expecting(c.expect), c.want)
	}
	claiming := func(says, when string) string {
		return demo.Text + "claims:\n  - says: '" + says + "'\n    when: '" + when + "'\n"
	}
	wantError(t, "a claim's assertion", claiming("it is", `p50("nethttp")`), `12:12: claims[0].when: expected bool, but got float64`)
	wantError(t, "a claim's figure", claiming(`its p50 is {p50("poool")}`, `p50("nethttp") < 5ms`), `11:28: claims[0].says: no arm "poool" (want one of nethttp, fasthttp)`)
	wantError(t, "half a claim", demo.Text+"claims:\n  - when: same(\"p50\")\n", `11:5: claims[0]: needs says, a sentence, and when, an assertion that decides it`)
	wantError(t, "no list", demo.Text+"expect: yes\n", `10:9: expect: want a list, like [a, b], not "yes"`)
}

// Requests that the scenario lists are asked in turn, with what stands after the path as body.
func TestListedRequests(t *testing.T) {
	t.Parallel()
	s, err := Parse("f.yaml", []byte(demo.Swap("cpu: 100us", "requests: [GET /kv/a, PUT /kv/a one value]")))
	if err != nil {
		t.Fatal(err)
	}
	want := []load.Target{{Method: "GET", URL: "http://h/kv/a", Body: []byte{}}, {Method: "PUT", URL: "http://h/kv/a", Body: []byte("one value")}}
	if got := s.Targets("h"); !reflect.DeepEqual(got, want) || s.AsksWork() || s.Asked() != "2 requests in turn" {
		t.Errorf("got %q, %q, work %v", got, s.Asked(), s.AsksWork())
	}
}

// What is asked is said once: by a file, by a log, or by the scenario.
func TestAskedOnce(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"targets: t.txt\n  path: /":     "4:12: workload.targets: excludes path, method, body, cpu and sleep: the file says what is asked",
		"requests: [GET /a]\n  path: /": "4:13: workload.requests: excludes path, method, body, cpu, sleep and targets: they say what is asked",
		"requests: [GET /a, get /b]":    `4:22: workload.requests[1]: "get /b" is no request like GET /path, or PUT /path body`,
	} {
		wantError(t, text, demo.Swap("cpu: 100us", text), want)
	}
	log := demo.Swap("workload:\n  cpu: 100us\nload:\n  rate: 300/s", "load:\n  arrivals: log(a.log)")
	wantError(t, "an arm's own log", strings.Replace(log, "log(a.log)", "constant\n  rate: 3/s", 1)+"  - {name: l, mode: nethttp, arrivals: log(a.log)}\n", "9:5: arms[2]: arrivals: a log says what is asked as well, so all arms have it or none; give it to load")
	wantError(t, "a log and work", strings.Replace(log, "load:", "workload: {cpu: 1ms}\nload:", 1), "5:13: load.arrivals: a log says what is asked as well; leave workload out")
}

// An answer says what a request does.
func TestAsked(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"cpu: 200us": "each request computes 200us", "sleep: 10ms": "each request sleeps 10ms", "cpu: exp(1ms)\n  sleep: 0.9*1ms+0.1*30ms": "each request computes exp(1ms) and sleeps 0.9*1ms+0.1*30ms",
		"path: /a?b=c": "each request is GET /a?b=c", "requests: [GET /a, GET /b]": "2 requests in turn",
	} {
		if s := parsed(t, demo.Swap("cpu: 100us", text)); s.Asked() != want {
			t.Errorf("%s: got %q, want %q", text, s.Asked(), want)
		}
	}
}

// Settings are read as they are written, in their order; what is no setting has a place.
func TestParseSettings(t *testing.T) {
	t.Parallel()
	got, err := ParseSettings([]byte("# of a team\nworkers: 010\nadmin: off\narms: [a, \"b\"]\narm:\n  - pool,workers=8\n"))
	want := []Setting{
		{"workers", []string{"010"}, false, 2, 1}, {"admin", []string{"off"}, false, 3, 1},
		{"arms", []string{"a", "b"}, true, 4, 1}, {"arm", []string{"pool,workers=8"}, true, 5, 1},
	}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	if got, err := ParseSettings([]byte("# nothing yet\n")); len(got) > 0 || err != nil {
		t.Errorf("of comments: got %v, %v", got, err)
	}
	for text, want := range map[string]string{
		"pool\n":                    "1:1: not a list of flags",
		"mode: pool\narms: [[a]]\n": "2:8: arms: want one value, not a list",
		"mode: \"\\e[31m\"\n":       "1:7: mode: \"\\x1b[31m\" has the control character U+001B; leave it out",
	} {
		if _, err := ParseSettings([]byte(text)); err == nil || err.Error() != want {
			t.Errorf("%q: got %v, want %s", text, err, want)
		}
	}
}

// A path of our own /work is the demand that it asks for, if it asks for nothing else.
func TestWorkOfAPath(t *testing.T) {
	t.Parallel()
	for path, want := range map[string]string{
		"/work?sleep=20ms": "0s, 20ms", "/work?cpu=exp(200us)&sleep=1ms": "exp(200us), 1ms", "/work?cpu=0.9*1ms+0.1*9ms": "0.9*1ms+0.1*9ms, 0s",
		"/work": "", "/work?cpu=1ms&lock=1ms": "", "/work?cpu=1ms&cpu=2ms": "", "/work?cpu=fast": "", "/other?cpu=1ms": "", "/work?sleep=0s": "",
	} {
		w, ok := WorkOf(path)
		if got := fmt.Sprintf("%s, %s", w.CPU, w.Sleep); ok != (want != "") || ok && got != want {
			t.Errorf("%s: got %s, %v; want %q", path, got, ok, want)
		}
	}
}

// The source that a record keeps of a question on the command line can be read again.
func TestAskedSourceIsReadAgain(t *testing.T) {
	t.Parallel()
	work, _ := WorkOf("/work?sleep=20ms")
	for name, ask := range map[string]struct {
		Workload
		Load
	}{
		"path":    {Workload{Path: "/"}, Load{KeepAlive: true, Rate: Rate{OfSlowest: .7}}},
		"targets": {Workload{Targets: "reqs.txt"}, Load{KeepAlive: true, Rate: Rate{OfSlowest: .7}}},
		"work":    {work, Load{KeepAlive: true, Rate: Rate{OfSlowest: .7}}},
		"log":     {Workload{}, Load{KeepAlive: true, Arrivals: "log(access.log,10x)"}},
	} {
		asked, err := Ask(name, "Which is best?", ask.Workload, ask.Load)
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if again, err := Recorded(name, []byte(asked.Source)); err != nil || again.Workload.Path != asked.Workload.Path || again.Load.Arrivals != asked.Load.Arrivals {
			t.Errorf("%s: %v: %s", name, err, asked.Source)
		}
	}
}
