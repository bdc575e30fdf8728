package ui

import (
	"bufio"
	"context"
	"fmt"
	"html/template"
	"io"
	"net"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"schedlab/internal/capabilities/session"
	"schedlab/internal/shared/outcome"
	"schedlab/internal/shared/record"
	"schedlab/internal/shared/stats"
)

// TestMain makes this binary stand in for `schedlab order`, too: see comparison.
func TestMain(m *testing.M) {
	if len(os.Args) > 2 && os.Args[1] == "order" {
		os.Exit(comparison(os.Args[2], os.Stdin))
	}
	goleak.VerifyTestMain(m)
}

// Rates of a request that make comparison end, refuse it, or wait for Ctrl-C.
const ended, refuses, waits = "3/s", "2/s", "1/s"

// comparison notes its process and its order in dir, and does what the rate says.
func comparison(dir string, in io.Reader) int {
	interrupts := make(chan os.Signal, 1)
	signal.Notify(interrupts, os.Interrupt)
	f, err := os.OpenFile(filepath.Join(dir, "started"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return 1
	}
	text, err := io.ReadAll(in)
	if err != nil {
		return 1
	}
	fmt.Fprintln(f, os.Getpid(), string(text))
	o, err := session.ReadOrder(text)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	fmt.Fprintln(os.Stderr, `{"step":"block 1: nethttp","done":1,"total":40,"left":30,"first_look":10,"arms":[{"name":"nethttp","role":"baseline","p50":{"so_far":{"median":0.001,"low":0.001,"high":0.002},"blocks":[0.001,null,0.002]},"p99":{"blocks":[null]},"goodput":{"blocks":[]}},{"name":"pool","role":"challenger","against":"nethttp","p50":{"blocks":[0.002]},"p99":{"blocks":[]},"goodput":{"blocks":[]}}]}`)
	switch o.Compare.Rate.String() {
	case refuses:
		fmt.Fprintln(os.Stderr, "schedlab: --rate 2/s is <no> rate")
		return session.Mistake
	case waits:
		<-interrupts
		fmt.Fprintln(os.Stderr, `{"answer":"No verdict yet","record":"runs/20261126-000000-quick-0001"}`)
		return session.Interrupted
	}
	fmt.Fprintln(os.Stderr, `{"answer":"pool is slower","record":"runs/20261126-000000-quick-0001"}`)
	return 0
}

// A served is a Server on a port of its own, with a browser that it let in.
type served struct {
	*Server
	t       *testing.T
	dir     string
	url     string
	browser *http.Client
	ended   chan error
	cancel  context.CancelFunc
}

func serve(t *testing.T, c Config) *served {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	v := &served{t: t, dir: t.TempDir(), url: "http://" + ln.Addr().String(), ended: make(chan error, 1)}
	c.Root, c.Carry, c.Out = filepath.Join(v.dir, "runs"), []string{os.Args[0], "order", v.dir}, io.Discard
	c.Scenarios, c.Modes, c.Program = choices(), modes(), program()
	if v.Server, err = New(c, ln); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	v.cancel = cancel
	go func() { v.ended <- v.Serve(ctx, ln) }()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	v.browser = &http.Client{Jar: jar, Transport: &http.Transport{}}
	t.Cleanup(func() {
		cancel()
		if err := <-v.ended; err != nil {
			t.Error(err)
		}
		v.browser.CloseIdleConnections()
	})
	if code, body := v.get("/?token=" + v.token()); code != http.StatusOK || !strings.Contains(body, "<h2 id=\"h-start\">") {
		t.Fatalf("the token leads to %d:\n%s", code, body)
	}
	return v
}

func (v *served) token() string {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.entry
}

func (v *served) do(r *http.Request) (int, string) {
	v.t.Helper()
	reply, err := v.browser.Do(r)
	if err != nil {
		v.t.Fatal(err)
	}
	defer reply.Body.Close()
	body, err := io.ReadAll(reply.Body)
	if err != nil {
		v.t.Fatal(err)
	}
	return reply.StatusCode, string(body)
}

func (v *served) request(method, path, body string) *http.Request {
	v.t.Helper()
	r, err := http.NewRequest(method, v.url+path, strings.NewReader(body))
	if err != nil {
		v.t.Fatal(err)
	}
	if method == http.MethodPost {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	return r
}

func (v *served) get(path string) (int, string) { return v.do(v.request(http.MethodGet, path, "")) }

// form is what the browser sends of the form with this rate, and with more fields.
func (v *served) form(rate string, more ...string) string {
	f := url.Values{"token": {v.action}, "scenario": {"quick"}, "rate": {rate}}
	for i := 0; i+1 < len(more); i += 2 {
		f.Set(more[i], more[i+1])
	}
	return f.Encode()
}

func (v *served) post(path, body string) (int, string) {
	v.t.Helper()
	return v.do(v.request(http.MethodPost, path, body))
}

// started are the comparisons that were started: process and arguments.
func (v *served) started() []string {
	text, err := os.ReadFile(filepath.Join(v.dir, "started"))
	if err != nil && !os.IsNotExist(err) {
		v.t.Fatal(err)
	}
	return strings.FieldsFunc(string(text), func(r rune) bool { return r == '\n' })
}

// await waits until the jobs are as wanted.
func (v *served) await(what string, right func(jobs []*job) bool) {
	v.t.Helper()
	for late := time.After(30 * time.Second); ; {
		v.mu.Lock()
		ok, changed := right(v.jobs), v.changed
		v.mu.Unlock()
		if ok {
			return
		}
		select {
		case <-changed:
		case <-late:
			v.t.Fatalf("not %s after 30 s", what)
		}
	}
}

func states(want ...state) func([]*job) bool {
	return func(jobs []*job) bool {
		return slices.EqualFunc(jobs, want, func(j *job, s state) bool { return j.State == s })
	}
}

// What an attacker may try starts nothing, and what is refused is refused with its reason.
func TestAttacks(t *testing.T) {
	t.Parallel()
	v := serve(t, Config{})
	stranger := &http.Client{Transport: v.browser.Transport}
	used := v.token()
	if code, _ := v.get("/?token=" + used); code != http.StatusOK {
		t.Fatalf("the second token: %d", code)
	}
	set := func(header, value string) func(*http.Request) {
		return func(r *http.Request) {
			if header == "Host" {
				r.Host = value
			}
			r.Header.Set(header, value)
		}
	}
	port := v.url[strings.LastIndex(v.url, ":"):]
	for _, tt := range []struct {
		name, method, path, body string
		with                     func(*http.Request)
		stranger                 bool
		want                     int
	}{
		{"another Host", "POST", "/start", v.form(ended), set("Host", "evil.example"+port), false, 421},
		{"another Host, reading", "GET", "/", "", set("Host", "evil.example"+port), false, 421},
		{"another port", "GET", "/", "", set("Host", "127.0.0.1:1"), false, 421},
		{"another address", "GET", "/", "", set("Host", "127.0.0.2"+port), false, 421},
		{"no port", "GET", "/", "", set("Host", "127.0.0.1"), false, 421},
		{"no cookie", "GET", "/", "", nil, true, 403},
		{"no cookie, style sheet", "GET", "/style.css", "", nil, true, 403},
		{"no cookie, events", "GET", "/events", "", nil, true, 403},
		{"no cookie, action", "POST", "/start", v.form(ended), nil, true, 403},
		{"wrong cookie", "GET", "/", "", set("Cookie", cookieName+port[1:]+"=x"), true, 403},
		{"empty cookie", "GET", "/", "", set("Cookie", cookieName+port[1:]+"="), true, 403},
		{"a token that was used", "GET", "/?token=" + used, "", nil, true, 403},
		{"the forms' token for a cookie", "GET", "/?token=" + v.action, "", nil, true, 403},
		{"no token", "POST", "/start", "scenario=quick", nil, false, 403},
		{"wrong token", "POST", "/start", "scenario=quick&token=x", nil, false, 403},
		{"token in the address alone", "POST", "/start?token=" + v.action, "scenario=quick", nil, false, 403},
		{"stopping without token", "POST", "/stop", "job=1", nil, false, 403},
		{"another Origin", "POST", "/start", v.form(ended), set("Origin", "http://evil.example"), false, 403},
		{"Origin on another port", "POST", "/start", v.form(ended), set("Origin", "http://127.0.0.1:1"), false, 403},
		{"no Origin to speak of", "POST", "/start", v.form(ended), set("Origin", "null"), false, 403},
		{"from another site", "POST", "/start", v.form(ended), set("Sec-Fetch-Site", "cross-site"), false, 403},
		{"from another port", "POST", "/start", v.form(ended), set("Sec-Fetch-Site", "same-site"), false, 403},
		{"a GET that acts", "GET", "/start?" + v.form(ended), "", nil, false, 405},
		{"another method", "PUT", "/start", "", nil, false, 403},
		{"a large form", "POST", "/start", v.form(ended, "arm", strings.Repeat("x", 2*maxForm)), nil, false, 400},
		{"a command", "POST", "/start", v.form(ended, "arm", "x=touch /tmp/x {addr}"), nil, false, 200},
		{"a command after a good arm", "POST", "/start", v.form(ended, "arm", "pool,workers=8\nx=touch /tmp/x {addr}"), nil, false, 200},
		{"an address", "POST", "/start", v.form(ended, "arm", "x=http://127.0.0.1:22"), nil, false, 200},
		{"a variable", "POST", "/start", v.form(ended, "arm", "nethttp,env.LD_PRELOAD=/tmp/x.so"), nil, false, 200},
		{"a variable to vary", "POST", "/start", v.form(ended, "vary", "workers=1,2\nenv.LD_PRELOAD=/tmp/x.so,/tmp/y.so"), nil, false, 200},
		{"a flag as a scenario", "POST", "/start", v.form(ended, "scenario", "--arm=x=touch {addr}"), nil, false, 200},
		{"a file as a scenario", "POST", "/start", v.form(ended, "scenario", "./mine.yaml"), nil, false, 200},
		{"a command in the order of arms", "POST", "/start", v.form(ended, "arms", "nethttp,x=touch /tmp/x {addr}"), nil, false, 200},
		{"a variable in the order of arms", "POST", "/start", v.form(ended, "arms", "nethttp,env.LD_PRELOAD=/tmp/x.so,pool"), nil, false, 200},
		{"a command as a mode", "POST", "/start", v.form(ended, "mode", "x=touch {addr}"), nil, false, 200},
		{"a path as a run", "GET", "/runs/..%2F..%2Fetc/", "", nil, false, 404},
		{"a path beside a run", "GET", "/beside?run=../x&run=/etc", "", nil, false, 404},
		{"one run beside nothing", "GET", "/beside?run=x", "", nil, false, 400},
		{"one run beside itself", "GET", "/beside?run=x&run=x", "", nil, false, 400},
		{"more runs than lines can tell apart", "GET", "/beside?run=a&run=b&run=c&run=d&run=e", "", nil, false, 400},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := v.request(tt.method, tt.path, tt.body)
			if tt.with != nil {
				tt.with(r)
			}
			client := v.browser
			if tt.stranger {
				client = stranger
			}
			reply, err := client.Do(r)
			if err != nil {
				t.Fatal(err)
			}
			body, err := io.ReadAll(reply.Body)
			reply.Body.Close()
			if err != nil || reply.StatusCode != tt.want || len(body) == 0 {
				t.Errorf("got %d, %v, want %d:\n%.300s", reply.StatusCode, err, tt.want, body)
			}
			if tt.path == "/start" && tt.want == http.StatusOK && !strings.Contains(string(body), `id="problem"`) {
				t.Errorf("the form does not say what is wrong:\n%.300s", body)
			}
			if reply.Header.Get("Set-Cookie") != "" || tt.stranger && strings.Contains(string(body), v.action) {
				t.Errorf("it gives a secret away: %v\n%s", reply.Header, body)
			}
		})
	}
	if got := v.started(); len(got) > 0 {
		t.Errorf("this was started: %q", got)
	}
	// The control: the same form from our own page starts one, as localhost, too.
	own := v.request("POST", "/start", v.form(ended))
	own.Header.Set("Origin", v.url)
	own.Header.Set("Sec-Fetch-Site", "same-origin")
	if code, _ := v.do(own); code != http.StatusOK {
		t.Errorf("our own form: %d", code)
	}
	v.await("done", states("done"))
	if got := v.started(); len(got) != 1 || !strings.HasSuffix(got[0], ` {"compare":{"scenarios":["quick"],"rate":"3/s","out":"`+v.Root+`","command":"schedlab compare quick --rate=3/s"},"output":"text","progress":"json"}`) {
		t.Errorf("started %q", got)
	}
}

// One runs at a time, the others wait; each is stopped by itself; and what went wrong is said.
func TestQueue(t *testing.T) {
	t.Parallel()
	v := serve(t, Config{})
	for _, rate := range []string{waits, waits, refuses, ended} {
		if code, body := v.post("/start", v.form(rate)); code != http.StatusOK {
			t.Fatalf("%d: %s", code, body)
		}
	}
	v.await("running", func(jobs []*job) bool {
		return states(running, waiting, waiting, waiting)(jobs) && jobs[0].Progress.Total > 0
	})
	if _, body := v.get("/"); !strings.Contains(body, "block 1: nethttp, about 30s left") || !strings.Contains(body, "the first look is after 10 blocks") ||
		strings.Count(body, `<path class="dots"`) != 1 || !strings.Contains(body, "schedlab compare quick --rate=1/s") {
		t.Errorf("a page without script does not show the run:\n%s", body)
	}
	v.post("/stop", v.form("", "job", "2"))
	v.await("stopped while it waits", states(running, stopped, waiting, waiting))
	v.post("/stop", v.form("", "job", "2")) // again, and one that is not there
	v.post("/stop", v.form("", "job", "77"))
	v.post("/stop", v.form("", "job", "1"))
	v.await("all ended", states(stopped, stopped, "refused", "done"))
	if got := v.started(); len(got) != 3 {
		t.Errorf("started %q", got)
	}
	if _, body := v.get("/"); !strings.Contains(body, "--rate 2/s is &lt;no&gt; rate") || !strings.Contains(body, `<a href="/runs/20261126-000000-quick-0001/" id="result">`) {
		t.Errorf("the page does not say how they ended:\n%s", body)
	}
	// A full queue refuses, and keeps what was typed.
	for range maxQueued + 1 {
		v.post("/start", v.form(waits))
	}
	v.await("one running", func(jobs []*job) bool {
		return slices.ContainsFunc(jobs, func(j *job) bool { return j.State == running })
	})
	v.post("/start", v.form(waits))
	if code, body := v.post("/start", v.form(waits, "vary", "workers=3,4", "mode", "pool")); code != http.StatusOK || !strings.Contains(body, "20 comparisons wait already") ||
		!strings.Contains(body, `>workers=3,4</textarea>`) || !strings.Contains(body, `value="pool" checked`) {
		t.Errorf("a full queue: %d\n%s", code, body)
	}
	// Who takes his comparison back leaves his place.
	v.end(20)
	if code, body := v.post("/start", v.form(waits)); code != http.StatusOK {
		t.Errorf("a queue with a place: %d\n%s", code, body)
	}
	for id := 30; id > 0; id-- {
		v.end(id)
	}
	v.await("stopped", func(jobs []*job) bool { return !slices.ContainsFunc(jobs, func(j *job) bool { return !j.Ended() }) })
	v.post("/start", v.form(ended))
	v.await("few are kept", func(jobs []*job) bool { return len(jobs) == keepEnded && jobs[len(jobs)-1].State == "done" })
}

// A comparison that is killed is said to be, and the next one runs. One thousand clients that never finish
// their request and browsers that do not read take nothing from those that do.
func TestKilledAmongSlowClients(t *testing.T) {
	t.Parallel()
	v := serve(t, Config{})
	addr, _ := strings.CutPrefix(v.url, "http://")
	cookies := v.browser.Jar.Cookies(v.request("GET", "/", "").URL)
	for i := range 1000 {
		c, err := net.Dial("tcp", addr)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		head := "POST /start HTTP/1.1\r\nHost: " + addr + "\r\nContent-Le"
		if i < 100 { // these watch, but do not read
			head = "GET /events HTTP/1.1\r\nHost: " + addr + "\r\nCookie: " + cookies[0].String() + "\r\n\r\n"
		}
		if _, err := io.WriteString(c, head); err != nil {
			t.Fatal(err)
		}
	}
	v.post("/start", v.form(waits))
	v.post("/start", v.form(ended))
	v.await("running", func(jobs []*job) bool {
		return len(jobs) == 2 && jobs[0].State == running && jobs[0].Progress.Total > 0
	})
	if n := len(v.streams); n > maxStreams {
		t.Errorf("%d browsers watch", n)
	}
	pid, err := strconv.Atoi(strings.Fields(v.started()[0])[0])
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	v.await("killed, and the next done", states(failed, "done"))
	if _, body := v.get("/"); !strings.Contains(body, "signal: killed") {
		t.Errorf("the page does not say so:\n%s", body)
	}
	if got := v.started(); len(got) != 2 {
		t.Errorf("started %q", got)
	}
}

// Ctrl-C of the program stops the comparison that runs as Ctrl-C would, and starts none that waits.
func TestEndStopsTheRun(t *testing.T) {
	t.Parallel()
	v := serve(t, Config{})
	v.post("/start", v.form(waits))
	v.post("/start", v.form(waits))
	v.await("running", func(jobs []*job) bool {
		return len(jobs) == 2 && jobs[0].State == running && jobs[0].Progress.Total > 0
	})
	v.cancel()
	v.await("stopped", func(jobs []*job) bool { return jobs[0].State == stopped && jobs[0].Progress.Record != "" })
	if err := <-v.ended; err != nil || len(v.started()) != 1 {
		t.Errorf("it ended with %v, and started %q", err, v.started())
	}
	v.ended <- nil
}

// killedRun records a run that was killed on that day, and returns its name.
func killedRun(t *testing.T, root string, day int) string {
	t.Helper()
	return recorded(t, root, record.Run{Status: record.Running, Started: time.Date(2026, 11, day, 0, 0, 0, 0, time.UTC), Trials: -1})
}

// recorded records a run, and returns its name.
func recorded(t *testing.T, root string, run record.Run) string {
	t.Helper()
	dir, err := record.Create(root, "quick", run.Started, func() uint32 { return 1 })
	if err != nil {
		t.Fatal(err)
	}
	run.Name, run.Plan = dir.Name(), record.Plan{Scenario: "<quick>"}
	if err := dir.WriteRun(run); err != nil {
		t.Fatal(err)
	}
	return dir.Name()
}

// decidedRun records a run of that day in which <pool> is slower than nethttp, and returns its name.
func decidedRun(t *testing.T, root string, day int) string {
	t.Helper()
	challenger := record.Arm{Contestant: record.Contestant{Name: "<pool>", Role: record.Challenger}}
	return recorded(t, root, record.Run{Status: record.Complete, Started: time.Date(2026, 11, day, 0, 0, 0, 0, time.UTC), Result: &record.Comparison{
		Arms: []record.Arm{{Contestant: record.Contestant{Name: "nethttp", Role: record.Baseline}}, challenger}, Valid: 10 + day,
		Verdicts: []record.Verdict{{Metric: stats.P99, Primary: true, Baseline: "nethttp", Arm: "<pool>", Verdict: stats.Decided(stats.Slower), Ratio: 2, Low: 1.9, High: 2.1, Blocks: 12, Lost: 12}},
		Winner:   record.Winner{Outcome: outcome.Yes, Arm: "nethttp"},
		Answer:   record.Conclusion{Outcome: outcome.Yes, Kind: record.OneWins, Standings: []record.Standing{{Arm: "<pool>", Baseline: "nethttp", Place: record.Placed(stats.Slower)}}},
	}})
}

// Three runs stand side by side: their verdicts in one drawing, a column for each, and in what the first differs from each other.
func TestRunsSideBySide(t *testing.T) {
	t.Parallel()
	v := serve(t, Config{})
	path := "/beside?"
	var names []string
	for day := range 3 {
		names = append(names, decidedRun(t, v.Root, 3-day))
		path += "run=" + names[day] + "&"
	}
	code, body := v.get(path)
	if code != http.StatusOK || strings.Count(body, `<table class="forest">`) != 1 || strings.Contains(body, "<pool>") {
		t.Fatalf("%d, want one forest:\n%s", code, body)
	}
	for i, label := range []string{"A", "B", "C"} { // the oldest first
		name := names[2-i]
		for _, want := range []string{"<th scope=\"row\">p99, " + label + "</th>", "<h2>" + label + ` <a href="/runs/` + name + `/">` + name + "</a></h2>"} {
			if !strings.Contains(body, want) {
				t.Errorf("no %s in\n%s", want, body)
			}
		}
	}
	if _, differ, _ := strings.Cut(body, "In what they differ"); strings.Count(differ, names[2]) != 2 || strings.Count(differ, names[0]) != 1 {
		t.Errorf("want the oldest against each other:\n%s", differ)
	}
}

// The list has a line for each job without a record, with what it does and how long that takes, and for each run its answer with a word for
// each arm. The run of the job that goes on has one line, as a job.
func TestListOfJobsAndRuns(t *testing.T) {
	t.Parallel()
	v := serve(t, Config{})
	decided := decidedRun(t, v.Root, 2)
	killed := killedRun(t, v.Root, 1)
	v.post("/start", v.form(waits))
	v.post("/start", v.form(ended))
	v.await("running", func(jobs []*job) bool { return states(running, waiting)(jobs) && jobs[0].Progress.Total > 0 })
	own := recorded(t, v.Root, record.Run{Status: record.Running, Started: time.Now(), Trials: -1})
	_, body := v.get("/")
	line := func(id string) string {
		found := regexp.MustCompile(`(?s)<tr id="` + id + `">.*?</tr>`).FindString(body)
		return strings.Join(strings.Fields(regexp.MustCompile(`<[^>]*>`).ReplaceAllString(found, " ")), " ")
	}
	for id, want := range map[string]string{
		"job-1":          "schedlab compare quick --rate=1/s running, about 30s left at most",
		"job-2":          "schedlab compare quick --rate=3/s queued Do not run it",
		"run-" + own:     "",
		"run-" + killed:  killed + " running 0.0 MB",
		"run-" + decided: decided + " done 0.0 MB " + template.HTMLEscapeString(v.read(decided).Short) + " &lt;pool&gt; SLOWER",
	} {
		if got := line(id); got != want {
			t.Errorf("%s: got %q, want %q", id, got, want)
		}
	}
	if !strings.Contains(body, `href="/runs/`+decided+`/"`) || !strings.Contains(body, `<span class="verdict SLOWER">`) {
		t.Errorf("no link to the report, or no colour for the word:\n%s", body)
	}
}

// A browser gets the list of runs when it begins to watch and when a run has ended, and not with each step.
func TestListIsToldWhenARunEnds(t *testing.T) {
	t.Parallel()
	v := serve(t, Config{})
	reply, err := v.browser.Get(v.url + "/events")
	if err != nil {
		t.Fatal(err)
	}
	defer reply.Body.Close()
	events := bufio.NewScanner(reply.Body)
	events.Buffer(nil, 1<<20)
	lists, steps := 0, 0
	until := func(what string) {
		t.Helper()
		for events.Scan() {
			lists += strings.Count(events.Text(), `id="live-runs"`)
			steps += strings.Count(events.Text(), `id="live-step"`)
			if strings.Contains(events.Text(), what) {
				return
			}
		}
		t.Fatalf("no %q: %v", what, events.Err())
	}
	until("No run is recorded")
	name := killedRun(t, v.Root, 1)
	v.post("/start", v.form(waits))
	until("block 1: nethttp")
	v.end(1)
	until(`<tr id="run-` + name + `">`)
	if lists != 2 || steps < 3 {
		t.Errorf("%d lists in %d events, want one at the beginning and one at the end of the run", lists, steps)
	}
}

// A report leads to its line of the list, and to the runs before and after it.
func TestReportLeadsToTheOtherRuns(t *testing.T) {
	t.Parallel()
	v := serve(t, Config{})
	var names []string
	for day := range 3 {
		names = append(names, killedRun(t, v.Root, 1+day))
	}
	for i, want := range [][]string{{"Newer " + names[1]}, {"Older " + names[0], "Newer " + names[2]}, {"Older " + names[1]}} {
		code, body := v.get("/runs/" + names[i] + "/")
		if code != http.StatusOK || !strings.Contains(body, `<a href="/#run-`+names[i]+`">All runs</a>`) {
			t.Errorf("%s leads to no list: %d\n%.500s", names[i], code, body)
		}
		var got []string
		for _, link := range regexp.MustCompile(`<a href="/runs/([^/]+)/">(Older|Newer): [^<]+</a>`).FindAllStringSubmatch(body, -1) {
			got = append(got, link[2]+" "+link[1])
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", names[i], diff)
		}
	}
	if _, body := v.get("/"); !strings.Contains(body, `<tr id="run-`+names[1]+`">`) {
		t.Errorf("the list has no line to lead to:\n%s", body)
	}
}

// A run that was killed is listed, and not judged while another is measured; one without a result stands
// beside none.
func TestRunsWithoutResult(t *testing.T) {
	t.Parallel()
	v := serve(t, Config{})
	name := killedRun(t, v.Root, 1)
	link := "/runs/" + name + "/"
	if _, body := v.get("/"); !strings.Contains(body, link) || !strings.Contains(body, "<td>running</td>") {
		t.Errorf("it is not listed:\n%s", body)
	}
	if code, body := v.get("/beside?run=" + name + "&run=" + killedRun(t, v.Root, 2)); code != http.StatusConflict || !strings.Contains(body, "has no result") {
		t.Errorf("beside another: %d\n%s", code, body)
	}
	if code, body := v.get(link); code != http.StatusOK || !strings.Contains(body, "&lt;quick&gt;") {
		t.Errorf("its report: %d\n%.500s", code, body)
	}
	if code, body := v.get(link + "why.html"); code != http.StatusNotFound || !strings.Contains(body, "not explained") {
		t.Errorf("its explanation: %d\n%s", code, body)
	}
	v.post("/start", v.form(waits))
	v.await("running", states(running))
	if code, body := v.get(link); code != http.StatusConflict || !strings.Contains(body, "would disturb") {
		t.Errorf("its report while another is measured: %d\n%.500s", code, body)
	}
}

// Every page is without script, style or handlers of its own, and its policy says so.
func TestPagesHaveNoInlineScript(t *testing.T) {
	t.Parallel()
	v := serve(t, Config{})
	v.post("/start", v.form(ended))
	v.await("done", states("done"))
	inline := regexp.MustCompile(`(?i)<script>|<style|\son[a-z]+=|\sstyle=|javascript:|<script[^>]*></script>.*<script`)
	for _, path := range []string{"/", "/beside", "/nosuch/"} {
		reply, err := v.browser.Get(v.url + path)
		if err != nil {
			t.Fatal(err)
		}
		body, _ := io.ReadAll(reply.Body)
		reply.Body.Close()
		if found := inline.FindString(string(body)); found != "" {
			t.Errorf("%s has %q", path, found)
		}
		csp := reply.Header.Get("Content-Security-Policy")
		if strings.Contains(csp, "unsafe") || !strings.Contains(csp, "default-src 'none'") || !strings.Contains(csp, "script-src 'self'") {
			t.Errorf("%s: %q", path, csp)
		}
	}
}

// A memory is a listener of connections in memory, for virtual time.
type memory struct {
	conns chan net.Conn
	once  sync.Once
	ended chan struct{}
}

func (m *memory) Accept() (net.Conn, error) {
	select {
	case c := <-m.conns:
		return c, nil
	case <-m.ended:
		return nil, net.ErrClosed
	}
}
func (m *memory) Close() error   { m.once.Do(func() { close(m.ended) }); return nil }
func (m *memory) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 8090} }

// A browser gets the newest state at each change and nothing else, for as long as it likes. One that does
// not read is dropped after five seconds, and makes room.
func TestWatching(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := &memory{conns: make(chan net.Conn), ended: make(chan struct{})}
		s, err := New(Config{Out: io.Discard, Root: t.TempDir()}, m)
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() { ended <- s.Serve(ctx, m) }()
		watch := func() net.Conn {
			here, there := net.Pipe()
			m.conns <- there
			fmt.Fprintf(here, "GET /events HTTP/1.1\r\nHost: 127.0.0.1:8090\r\nCookie: %s=%s\r\n\r\n", s.cookie, s.session)
			synctest.Wait()
			return here
		}
		begun := time.Now()
		deaf, reader := watch(), watch()
		defer deaf.Close()
		read := make(chan string)
		go func() {
			for lines := bufio.NewScanner(reader); lines.Scan(); {
				if strings.Contains(lines.Text(), "live-step") {
					read <- lines.Text()
				}
			}
			close(read)
		}()
		<-read
		for n := range 3 {
			time.Sleep(time.Hour)
			s.change(func() { s.jobs = []*job{{ID: n, State: running}} })
			s.change(func() { s.jobs[0].Progress.Total, s.jobs[0].Progress.Step = 40, fmt.Sprintf("block %d", n) })
			synctest.Wait()
			for text := <-read; !strings.Contains(text, fmt.Sprintf("block %d", n)); {
				text = <-read
			}
		}
		if n := len(s.streams); n != 1 || time.Since(begun) != 3*time.Hour {
			t.Errorf("%d browsers watch after %v, want the one that reads, for three hours", n, time.Since(begun))
		}
		reader.Close()
		for range read {
		}
		synctest.Wait()
		if n := len(s.streams); n != 0 {
			t.Errorf("%d browsers watch, want none", n)
		}
		s.mu.Lock()
		s.jobs = nil
		s.mu.Unlock()
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}

// Lines come whole, however they are cut; what is too long is cut off.
func TestLines(t *testing.T) {
	t.Parallel()
	var got []string
	l := &lines{take: func(line []byte) { got = append(got, string(line)) }}
	for _, part := range []string{"a", "b\nc\n\n", "d", strings.Repeat("x", 2*maxLine), "\ne\nrest"} {
		if n, err := l.Write([]byte(part)); n != len(part) || err != nil {
			t.Errorf("wrote %d, %v", n, err)
		}
	}
	if len(got) != 5 || got[0] != "ab" || got[1] != "c" || got[2] != "" || len(got[3]) != maxLine || got[4] != "e" {
		t.Errorf("got %.60q", got)
	}
}
