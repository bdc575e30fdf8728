package experiment

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"schedlab/internal/scenario"
	"schedlab/internal/scenario/demo"
)

func TestTargetsOfAFile(t *testing.T) {
	t.Chdir(t.TempDir())
	write := func(name, text string) {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("t.txt", "GET /a\n\nPUT http://elsewhere:1/b?c\nX: 1\n")
	s := parsed(t, demo.Swap("cpu: 100us", "targets: t.txt"))
	if s.AsksWork() {
		t.Error("it asks for /work")
	}
	p, err := newPlan(s, options())
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, target := range p.scenario.Targets("127.0.0.1:5") {
		got = append(got, target.Method+" "+target.URL)
	}
	if want := []string{"GET http://127.0.0.1:5/a", "PUT http://127.0.0.1:5/b?c"}; !slices.Equal(got, want) || p.Asked != "2 requests of t.txt in turn" {
		t.Errorf("got %q, %s, want %q", got, p.Asked, want)
	}
	write("t.txt", "GET ftp://h/a\n")
	if _, err := newPlan(s, options()); err == nil || !strings.Contains(err.Error(), `workload.targets: t.txt: reading targets: target 1: scheme "ftp"`) {
		t.Errorf("got %v", err)
	}
}

// Every arm of a block meets the same stretch of a log, the next block the next.
func TestReplayedLog(t *testing.T) {
	t.Chdir(t.TempDir())
	var log strings.Builder
	for i := range 400 {
		fmt.Fprintf(&log, "h - - [10/Oct/2000:13:55:%02d +0000] \"GET /%d HTTP/1.1\" 200 1\n", i/10, i%7)
	}
	if err := os.WriteFile("a.log", []byte(log.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	p := planned(t, demo.Swap("workload:\n  cpu: 100us\nload:\n  rate: 300/s", "load:\n  arrivals: log(a.log)"), nil)
	if p.Rate != 10 || p.Asked != "400 requests of a.log in their order, 7 different ones" {
		t.Errorf("got %g/s, %s", p.Rate, p.Asked)
	}
	stretch := func(block, arm int) string {
		trace, err := p.trace(p.Arms[arm].Clients, block, p.span(), 2)
		if err != nil {
			t.Fatal(err)
		}
		return fmt.Sprint(trace.At, trace.Which)
	}
	if stretch(0, 0) != stretch(0, 2) || stretch(0, 0) == stretch(1, 0) {
		t.Error("the arms of a block met different requests, or two blocks the same")
	}
	if got := len(p.scenario.Which()); got != 400 {
		t.Errorf("a closed loop goes through %d requests", got)
	}
	if o := p.scenario.Attack("127.0.0.1:1"); len(o.Targets) != 7 || !slices.Equal(o.Trace.Which, p.scenario.Which()) {
		t.Errorf("an attack asks %d targets in an order of %d, want the log's", len(o.Targets), len(o.Trace.Which))
	}
	fast := planned(t, demo.Swap("workload:\n  cpu: 100us\nload:\n  rate: 300/s", "load:\n  arrivals: log(a.log,3x)"), nil)
	if fast.Rate != 30 {
		t.Errorf("three times as fast is %g/s", fast.Rate)
	}
	if _, err := newPlan(p.scenario, func() Options { o := options(); o.Rate = scenario.Rate{PerSecond: 1000}; return o }()); err == nil || !strings.Contains(err.Error(), "a.log lasts 400ms at 1000/s, and a trial takes 700ms") {
		t.Errorf("got %v", err)
	}
}
