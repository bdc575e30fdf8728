package main

import (
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// write writes a file of a trial.
func write(t *testing.T, file, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// Chunks of the trials' load alone are counted, by arm, and arms without a relay are left out.
func TestFigures(t *testing.T) {
	t.Parallel()
	run := t.TempDir()
	l := newLateness(time.Millisecond, true)
	scrape := func() string {
		w := httptest.NewRecorder()
		l.page().ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
		return w.Body.String()
	}
	for _, trial := range []string{"001-near", "002-near", "003-far"} {
		dir := filepath.Join(run, "trials", trial)
		write(t, filepath.Join(dir, "trial.json"), `{"arm": "`+trial[4:]+`"}`)
		l.observe(time.Second) // while the server started
		write(t, filepath.Join(dir, "metrics-before.om"), scrape())
		for range 98 {
			l.observe(3 * time.Microsecond)
		}
		l.observe(20 * time.Microsecond)
		l.observe(20 * time.Microsecond)
		if trial == "003-far" {
			l.observe(2 * time.Second)
		}
		write(t, filepath.Join(dir, "metrics.om"), scrape())
	}
	write(t, filepath.Join(run, "trials", "004-direct", "trial.json"), `{"arm": "direct"}`)
	write(t, filepath.Join(run, "trials", "005-other", "trial.json"), `{"arm": "other"}`)
	write(t, filepath.Join(run, "trials", "005-other", "metrics.om"), "requests_total 5\n")
	var out strings.Builder
	if err := printFigures(&out, run); err != nil {
		t.Fatal(err)
	}
	var got []string
	for line := range strings.Lines(out.String()) {
		f := strings.Fields(line)
		got = append(got, strings.Join(f[:len(f)-2], " ")) // without the CPU time, which is this machine's
	}
	want := []string{
		"arm trials chunks late p50 p90 p99 p99.9 most CPU",
		"far 1 101 <= 4µs <= 4µs <= 32µs > 524.288ms > 524.288ms",
		"near 2 200 <= 4µs <= 4µs <= 32µs <= 32µs <= 32µs",
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// A run without a relay has no figures.
func TestNoFigures(t *testing.T) {
	t.Parallel()
	if err := printFigures(&strings.Builder{}, t.TempDir()); err == nil {
		t.Error("got a table of nothing")
	}
}

// The summary of a relay that has carried nothing and of one that has.
func TestSummary(t *testing.T) {
	t.Parallel()
	l := newLateness(time.Millisecond, false)
	if got, want := l.summary(), "0 chunks, 1ms each way, without real-time priority: late by - at p50, - at p99, - at most; "; !strings.HasPrefix(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	l.observe(3 * time.Microsecond)
	if got, want := l.summary(), "1 chunks, 1ms each way, without real-time priority: late by <= 4µs at p50, <= 4µs at p99, <= 4µs at most; "; !strings.HasPrefix(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
