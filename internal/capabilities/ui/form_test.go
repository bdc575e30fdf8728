package ui

import (
	"fmt"
	"html/template"
	"maps"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"schedlab/internal/capabilities/session"
	"schedlab/internal/shared/mode"
	"schedlab/internal/shared/record"
)

func choices() []Group {
	return []Group{{"First questions", []Scenario{{"quick", "Which is <best>?"}, {"pool-block", "How many workers?"}}}}
}

// described are modes as the serving half describes them.
func described() []mode.Mode {
	return []mode.Mode{
		{Name: "nethttp", Summary: "net/http, a goroutine for each <connection>", Station: "goroutines"},
		{Name: "fasthttp", Summary: "fasthttp's pool of goroutines", Station: "goroutines"},
		{Name: "pool", Summary: "a fixed pool of workers", Flags: []string{"workers", "queue-depth", "overflow"}, Station: "pool", Sticky: true},
	}
}

func modes() (all []Mode) {
	for _, m := range described() {
		all = append(all, Mode{m.Name, m.Summary})
	}
	return all
}

// program is this program with its modes, as plans need them. No server takes more than 9,999 workers.
func program() session.Program {
	p := session.Program{Self: os.Args[0], Modes: map[string]mode.Mode{}}
	for _, m := range described() {
		m.Check = func(flags map[string]string) error {
			for name, value := range flags {
				switch {
				case !m.Has(name):
					return fmt.Errorf("%s has no --%s", m.Name, name)
				case name == "workers" && len(value) > 4:
					return fmt.Errorf("--workers %s is above 9999", value)
				}
			}
			return nil
		}
		p.Modes[m.Name] = m
	}
	return p
}

// With --allow-commands arms may be anything that --arm takes, and a value is never more than a value. What the form leaves
// empty, and what it does not have, is as the user's environment has it.
func TestRequest(t *testing.T) {
	t.Parallel()
	c := Config{AllowCommands: true, Scenarios: choices(), Modes: modes()}
	c.Base.Window, c.Base.Stamps = 2*time.Second, "off"
	got, err := c.request(url.Values{"scenario": {"quick"}, "mode": {"nethttp", "pool"}, "arm": {"x=./x -l {addr}\r\n\r\n nethttp,env.GOGC=50 \n"},
		"vary": {" --out=x "}, "rate": {"0.5x"}, "window": {""}, "budget": {"20s"}, "seed": {"0"}, "close": {"true"}, "blocks": {"12"},
		"expect": {"a\nb"}, "out": {"/etc"}, "stamps": {"full"}})
	var want session.Compare
	want.Scenarios, want.Arms, want.Added = []string{"quick"}, []string{"nethttp", "pool"}, []string{"x=./x -l {addr}", "nethttp,env.GOGC=50"}
	want.Vary, want.Rate.OfSlowest, want.Window, want.Budget = []string{"--out=x"}, .5, 2*time.Second, 20*time.Second
	want.Stamps, want.Seed, want.Close, want.Blocks, want.Expect = "off", new(uint64), true, 12, []string{"a", "b"}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	shown := "schedlab compare quick --arms=nethttp,pool '--arm=x=./x -l {addr}' --arm=nethttp,env.GOGC=50 --vary=--out=x --rate=0.5x --window=2s --budget=20s " +
		"--expect=a --expect=b --seed=0 --blocks=12 --close=true"
	if got := c.typed(got); got != shown {
		t.Errorf("shown as %s, want %s", got, shown)
	}
}

// A request fills the form so that the form makes the same request again, and what the form has no field for is told.
func TestFilled(t *testing.T) {
	t.Parallel()
	c := Config{AllowCommands: true, Scenarios: choices(), Modes: modes()}
	seed := uint64(1<<63 + 1)
	asked := func(change func(*session.Compare)) (r session.Compare) {
		r.Scenarios = []string{"quick"}
		change(&r)
		return r
	}
	for _, r := range []session.Compare{
		asked(func(*session.Compare) {}),
		asked(func(r *session.Compare) { r.Arms = []string{"nethttp", "pool"} }),
		asked(func(r *session.Compare) { r.Arms = []string{"pool", "nethttp"} }),
		asked(func(r *session.Compare) { r.Arms = []string{"pool", "workers=8", "nethttp"} }),
		asked(func(r *session.Compare) {
			r.Arms, r.Added = []string{"old", "new"}, []string{"old=./old {addr}", "new=GOGC=50 ./new {addr}"}
		}),
		asked(func(r *session.Compare) {
			r.Vary, r.Expect = []string{"workers=4,8", "queue-depth=1,2"}, []string{"a", "b"}
			r.Rate.OfSlowest, r.Window, r.Budget, r.Warmup, r.Blocks, r.Seed = .7, time.Second, time.Minute, time.Millisecond, 20, &seed
			r.Keep, r.Note, r.Close = "p99<=10ms", "a <remark>", true
		}),
		asked(func(r *session.Compare) { r.Scenarios, r.Workload = nil, "cpu=20us" }),
		asked(func(r *session.Compare) { r.Scenarios, r.Path = nil, "/x" }),
	} {
		form, rest := c.filled(r)
		if got, err := c.request(form); err != nil || rest != nil || !cmp.Equal(got, r) {
			t.Errorf("%v, without %q:\n%s", err, rest, cmp.Diff(r, got))
		}
	}
	r := asked(func(r *session.Compare) {
		r.Scenarios, r.Stamps, r.Grid, r.AllowRemote = []string{"./mine.yaml"}, "off", []string{"cpu=1us,2us"}, true
	})
	if _, rest := c.filled(r); !slices.Equal(rest, []string{"./mine.yaml", "--allow-remote", "--grid", "--stamps"}) {
		t.Errorf("the form has no field for %q", rest)
	}
}

// A run that keeps its request leads to a form with its settings. A record of somebody else starts nothing by that.
func TestAgain(t *testing.T) {
	t.Parallel()
	v := serve(t, Config{})
	kept := func(name, request string) string {
		dir, err := record.Create(v.Root, name, time.Now(), func() uint32 { return 1 })
		if err != nil {
			t.Fatal(err)
		}
		run := record.Run{Name: dir.Name(), Status: record.Interrupted, Plan: record.Plan{Scenario: name}}
		if err := dir.WriteRun(run); err != nil {
			t.Fatal(err)
		}
		if request == "" {
			return "/runs/" + dir.Name() + "/again"
		}
		if err := os.WriteFile(filepath.Join(dir.Path(), "request.json"), []byte(`{"schema":1,"compare":`+request+`}`), 0o644); err != nil {
			t.Fatal(err)
		}
		return "/runs/" + dir.Name() + "/again"
	}
	own := kept("quick", `{"scenarios":["quick"],"arms":["pool","nethttp"],"rate":"300/s","seed":7,"stamps":"off"}`)
	_, list := v.get("/")
	code, body := v.get(own)
	for _, want := range []string{`<option value="quick" selected>`, `>pool,nethttp<`, `value="300/s"`, `value="7"`, `<code>--stamps</code>`} {
		shown := strings.ReplaceAll(body, `value="pool,nethttp"`, ">pool,nethttp<")
		if code != http.StatusOK || !strings.Contains(shown, want) {
			t.Errorf("%d: the form has no %s", code, want)
		}
	}
	if !strings.Contains(list, own+"#h-start") {
		t.Errorf("the list does not lead to %s", own)
	}
	for request, want := range map[string]string{"": "does not have its settings", `{"scenarioz":[]}`: "of another version"} {
		path := kept("other"+fmt.Sprint(len(request)), request)
		if code, body := v.get(path); code != http.StatusConflict || !strings.Contains(body, want) {
			t.Errorf("%s: %d\n%s", request, code, body)
		}
	}
	if code, _ := v.get("/runs/nosuch/again"); code != http.StatusNotFound {
		t.Errorf("a run that is not there: %d", code)
	}
	if got := v.started(); len(got) > 0 {
		t.Errorf("this was started: %q", got)
	}
}

// mistakes matches the messages at fields of a page: the field's name, and what it says.
var mistakes = regexp.MustCompile(`<strong class="mistake" id="(\w+)-wrong">([^<]*)</strong>`)

// A mistake starts nothing. Its message stands at its field, which has the focus, and every field keeps what was typed.
func TestMistakes(t *testing.T) {
	t.Parallel()
	v := serve(t, Config{})
	typed := url.Values{"token": {v.action}, "scenario": {"quick"}, "mode": {"nethttp", "fasthttp"}, "arm": {"pool,overflow=reject"},
		"rate": {"2000/s"}, "window": {"600ms"}, "budget": {"5m"}, "expect": {`not slower("p50", "fasthttp")`}, "slo": {"p50<=90ms"}, "seed": {"77"},
		"warmup": {"150ms"}, "blocks": {"20"}, "note": {"a <remark>"}, "close": {"true"}}
	for _, tt := range []struct{ field, value, says string }{
		{"scenario", "quicker", `scenario "quicker" is none of the list`},
		{"scenario", "", "choose one, or say"},
		{"mode", "poool", `mode "poool" is none of the list`},
		{"arm", "poool", "unknown mode"},
		{"arm", "pool,workers=99999999", "99999999 is above 9999"},
		{"arm", "pool,worker=4", "worker"},
		{"arm", "x=./x {addr}", "--allow-commands"},
		{"vary", "workers=4,99999999", "99999999 is above 9999"},
		{"vary", "werkers=4", "unknown factor"},
		{"rate", "fast", `"fast"`},
		{"rate", "-3/s", "-3/s"},
		{"window", "0s", `"0s" is not a time`},
		{"window", "1ms", "--window 1ms is outside"},
		{"budget", "1", `"1" is not a time`},
		{"budget", "1s", "raise --budget"},
		{"workload", "cpu=much", "drop one"},
		{"path", "/x", "drop one"},
		{"expect", "faster than light", "--expect"},
		{"expect", `not slower("p99", "nobody")`, "nobody"},
		{"slo", "p99<", "--slo"},
		{"seed", "-1", `"-1" is not a whole number`},
		{"warmup", "soon", `"soon" is not a time`},
		{"blocks", "2", "too few for any verdict"},
		{"blocks", "many", "is not a whole number above 0"},
	} {
		t.Run(tt.field+"="+tt.value, func(t *testing.T) {
			sent := maps.Clone(typed)
			sent[tt.field] = []string{tt.value}
			for _, path := range []string{"/start", "/plan"} {
				code, body := v.post(path, sent.Encode())
				said := mistakes.FindAllStringSubmatch(body, -1)
				if code != http.StatusOK || len(said) != 1 || said[0][1] != tt.field || !strings.Contains(html(said[0][2]), tt.says) {
					t.Errorf("%s: %d with the mistakes %q, want one at %s, %q", path, code, said, tt.field, tt.says)
				}
				if n := strings.Count(body, " autofocus"); n != 1 || !strings.Contains(body, `aria-invalid="true"`) {
					t.Errorf("%s: %d fields get the focus, want the one with the mistake", path, n)
				}
				keeps(t, body, sent, tt.value)
			}
		})
	}
	if got := v.started(); len(got) > 0 {
		t.Errorf("this was started: %q", got)
	}
	// The control: without the mistake it has a plan.
	_, body := v.post("/plan", typed.Encode())
	for _, want := range []string{"at most</dd>", "CPUs: server", "2000/s, seed 77", "machine: "} {
		if got := body[strings.Index(body, `<div id="plan">`):]; !strings.Contains(got, want) {
			t.Errorf("the plan has no %q:\n%.400s", want, got)
		}
	}
	if said := mistakes.FindString(body); said != "" {
		t.Errorf("mistakes in a form without any: %s", said)
	}
}

func html(escaped string) string {
	return strings.NewReplacer("&#34;", `"`, "&lt;", "<", "&gt;", ">", "&#39;", "'", "&#43;", "+", "&amp;", "&").Replace(escaped)
}

// keeps checks that a page's form has all that was sent. A choice that was wrong is not in the lists.
func keeps(t *testing.T, body string, sent url.Values, wrong string) {
	t.Helper()
	for name, values := range sent {
		for _, value := range values {
			text := template.HTMLEscapeString(value)
			shown := `value="` + text + `"`
			switch name {
			case "token":
				continue
			case "scenario":
				shown += " selected"
			case "mode", "close":
				shown += " checked"
			case "arm", "vary", "expect":
				shown = ">" + text + "</textarea>"
			}
			listed := value != wrong || name != "scenario" && name != "mode"
			if listed && !strings.Contains(body, shown) {
				t.Errorf("%s has lost %s", name, shown)
			}
		}
	}
}

// Before a run its plan tells the time, the machine, and what is wrong with it: too few workers for the rate.
func TestPlanWarns(t *testing.T) {
	t.Parallel()
	v := serve(t, Config{})
	_, body := v.post("/plan", v.form("2000/s", "arm", "pool,workers=2"))
	plan := body[strings.Index(body, `<div id="plan">`):]
	for _, want := range []string{"2 workers cannot keep up", "machine: ", "<dt>time</dt>"} {
		if !strings.Contains(plan, want) {
			t.Errorf("the plan has no %q:\n%.3000s", want, plan)
		}
	}
	// While a comparison is measured, nothing looks at the machine.
	v.post("/start", v.form(waits))
	v.await("running", states(running))
	_, body = v.post("/plan", v.form("2000/s", "arm", "pool,workers=2"))
	plan = body[strings.Index(body, `<div id="plan">`):]
	if !strings.Contains(plan, "2 workers cannot keep up") || !strings.Contains(plan, "without a look at the machine") || strings.Contains(plan, "machine: ") {
		t.Errorf("the plan while another is measured:\n%.3000s", plan)
	}
}

// The form says of each mode what 'schedlab modes' says, and has the scenarios in their groups.
func TestChoices(t *testing.T) {
	t.Parallel()
	_, body := serve(t, Config{}).get("/")
	for _, m := range described() {
		if !strings.Contains(html(body), fmt.Sprintf("<b>%s</b> <small>%s</small>", m.Name, m.Summary)) {
			t.Errorf("the form does not say what %s is", m.Name)
		}
	}
	groups := regexp.MustCompile(`<optgroup label="([^"]*)">`).FindAllStringSubmatch(body, -1)
	if !slices.EqualFunc(groups, []string{"First questions", "Requests of your own"}, func(g []string, want string) bool { return html(g[1]) == want }) {
		t.Errorf("groups of scenarios: %q", groups)
	}
}
