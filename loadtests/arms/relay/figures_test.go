package main

import (
	"errors"
	"math/rand/v2"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"schedlab/internal/shared/record"
)

// recorded returns a run with a trial of each arm, in this order.
func recorded(t *testing.T, arms []string, files func(arm string) record.Files) string {
	t.Helper()
	d, err := record.Create(t.TempDir(), "round-trip", time.Now(), rand.Uint32)
	if err != nil {
		t.Fatal(err)
	}
	err = d.WriteRun(record.Run{})
	for i, arm := range arms {
		err = errors.Join(err, d.WriteTrial(record.Trial{Number: i + 1, Arm: arm}, nil, files(arm)))
	}
	if err != nil {
		t.Fatal(err)
	}
	return d.Path()
}

// Chunks of the trials' load alone are counted, by arm, and arms without a relay are left out.
func TestFigures(t *testing.T) {
	t.Parallel()
	l := newLateness(time.Millisecond, true)
	scrape := func() []byte {
		w := httptest.NewRecorder()
		l.page().ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
		return w.Body.Bytes()
	}
	run := recorded(t, []string{"near", "near", "far", "direct", "other"}, func(arm string) (f record.Files) {
		switch arm {
		case "direct":
			return f
		case "other":
			return record.Files{Metrics: []byte("requests_total 5\n")}
		}
		l.observe(time.Second) // while the server started
		f.Before = scrape()
		for range 98 {
			l.observe(3 * time.Microsecond)
		}
		l.observe(20 * time.Microsecond)
		l.observe(20 * time.Microsecond)
		if arm == "far" {
			l.observe(2 * time.Second)
		}
		f.Metrics = scrape()
		return f
	})
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
	run := recorded(t, []string{"direct"}, func(string) (f record.Files) { return f })
	if err := printFigures(&strings.Builder{}, run); err == nil || !strings.Contains(err.Error(), "no trial") {
		t.Errorf("got %v, want an error that no trial has metrics of a relay", err)
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
