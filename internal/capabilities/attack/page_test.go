package attack

import (
	"bytes"
	"encoding/json"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"schedlab/internal/measuring/report"
	"schedlab/internal/measuring/report/document"
	"schedlab/internal/measuring/report/say"
	"schedlab/internal/shared/doubt"
	"schedlab/internal/shared/fact"
	"schedlab/internal/shared/record"
	"schedlab/internal/shared/responses"
	"schedlab/internal/shared/stats"
	"schedlab/internal/shared/timeline"
)

// alone is the result of an attack on U that sent requests, of which good got a good reply.
func alone(loop string, requests, good int, change func(r *record.Comparison, a *record.Arm)) *record.Comparison {
	r := &record.Comparison{Common: record.Common{Status: record.Complete, Window: record.Lasting(time.Second)}, Arms: []record.Arm{{
		Contestant: record.Contestant{Name: "U", Clients: record.Clients{Loop: loop, Arrivals: "poisson", Connections: 64, KeepAlive: true}},
		Figures:    record.Figures{Requests: requests, Errors: requests - good, Mean: new(1.), Goodput: new(float64(good)), Failures: map[string]int{}},
		Details:    record.Details{Disturbed: &record.Disturbed{}, Generator: &record.Proofs{Busy: .3}},
	}}}
	if change != nil {
		change(r, &r.Arms[0])
	}
	return r
}

// summary renders a result and collapses the columns.
func summary(t *testing.T, r *record.Comparison) string {
	t.Helper()
	var b bytes.Buffer
	if err := Write(&b, "text", r, true, report.TextOptions{Width: 400}); err != nil {
		t.Fatal(err)
	}
	return regexp.MustCompile(" +").ReplaceAllString(b.String(), " ")
}

// A quantile that is not known is a dash, and the answer has the highest that is.
func TestAttackShowsQuantilesWithEvidence(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		change func(r *record.Comparison, a *record.Arm)
		wants  []string
	}{
		{nil, []string{"response (from the scheduled time) - - - - 1.00 s\n", "good reply: mean 1.00 s, from the scheduled time.\n"}},
		{func(_ *record.Comparison, a *record.Arm) { a.P50 = new(2.) }, []string{"time) 2.00 s - - - 1.00 s\n", "good reply: p50 2.00 s, from"}},
		{func(_ *record.Comparison, a *record.Arm) {
			a.P50, a.P90, a.P99, a.Curve = new(2.), new(3.), new(4.), []responses.Point{{Quantile: .999, Seconds: 5}}
		}, []string{"time) 2.00 s 3.00 s 4.00 s 5.00 s 1.00 s\n", "good reply: p99 4.00 s, from"}},
	} {
		got := summary(t, alone("open", 100, 100, c.change))
		for _, want := range c.wants {
			if !strings.Contains(got, want) {
				t.Errorf("no %q in\n%s", want, got)
			}
		}
	}
}

// The histogram has a bar for each span of time, and its shares add up to all requests.
func TestHistogram(t *testing.T) {
	t.Parallel()
	r := alone("open", 1000, 1000, func(_ *record.Comparison, a *record.Arm) {
		for i := range 100 { // from 1 ms to 100 ms, uniform
			a.Curve = append(a.Curve, responses.Point{Quantile: float64(i+1) / 101, Seconds: float64(i+1) / 1000})
		}
	})
	rows := histogram(r.Arms[0]).(document.Table).Rows[1:]
	sum, longest := 0., 0
	for _, row := range rows {
		share, err := strconv.ParseFloat(strings.TrimSuffix(row[1], say.NBSP+"%"), 64)
		if err != nil {
			t.Fatal(err)
		}
		sum, longest = sum+share, max(longest, strings.Count(row[2], "█"))
	}
	if len(rows) != 9 || sum < 98.5 || sum > 101.5 || longest != 40 {
		t.Errorf("%d rows, %.2f %% in all, the longest bar has %d columns:\n%v", len(rows), sum, longest, rows)
	}
	// The last span of equal logarithms, from 56 to 100 ms, has 44 % of uniform times.
	if last := rows[7]; last[0] != "to 100"+say.NBSP+"ms" || last[1] != "44"+say.NBSP+"%" || strings.Count(last[2], "█") != 40 {
		t.Errorf("got %q", last)
	}
	if got := histogram(alone("open", 3, 3, nil).Arms[0]); !reflect.DeepEqual(got, document.Table{}) {
		t.Errorf("three requests have the histogram %v", got)
	}
}

// A loop without a schedule has no lag, and an attack that was cut short says so.
func TestAttackTellsWhatItsLoopHas(t *testing.T) {
	t.Parallel()
	r := alone("open", 295, 290, func(r *record.Comparison, a *record.Arm) {
		r.Status, a.Generator.Missing, a.Failures["reset"] = record.Interrupted, 1681, 5
		a.Disturbed.Late[stats.P50] = stats.Known(1e-5)
	})
	for _, want := range []string{
		"INTERRUPTED\n", "290 of 295 requests got a good reply: ", "requests 295 sent, 290 good (goodput 290/s), 1,681 never sent\n", "failures reset: 5\n",
		", from the scheduled time.", "late by (the load) 10.0 µs ",
	} {
		if got := summary(t, r); !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
	closed := alone("closed", 299, 299, func(_ *record.Comparison, a *record.Arm) { a.Disturbed.Late[stats.P50] = stats.Known(0) })
	got := summary(t, closed)
	for _, not := range []string{"schedul", "late by", "never sent"} {
		if strings.Contains(strings.ReplaceAll(got, "there is no schedule", ""), not) {
			t.Errorf("%q in the summary of a closed loop without a pace:\n%s", not, got)
		}
	}
	closed.Arms[0].Clients.Rate = 100
	if got := summary(t, closed); !strings.Contains(got, "from the scheduled time") || !strings.Contains(got, "late by") {
		t.Errorf("no schedule in the summary of paced clients:\n%s", got)
	}
}

// The answer counts the connections that were never served.
func TestAttackAnswersForStarvedConnections(t *testing.T) {
	t.Parallel()
	r := alone("open", 20, 20, func(_ *record.Comparison, a *record.Arm) { a.Fairness = &record.Fairness{Asked: 64, Served: 64} })
	const starved = "60 of 64 connections got no reply at all, and the times of good replies are those of the others: "
	if got := summary(t, r); strings.Contains(got, "no reply at all") {
		t.Errorf("starved connections where none is:\n%s", got)
	}
	r.Arms[0].StarvedConnections, r.Arms[0].Fairness.Served = 60, 4
	if got := summary(t, r); !strings.Contains(got, starved) {
		t.Errorf("no %q in\n%s", starved, got)
	}
}

// The answer says that the load was late where that is much of the time.
func TestAttackAnswersForALateLoad(t *testing.T) {
	t.Parallel()
	for lag, want := range map[float64]bool{2.36e-3: true, 1.1e-3: false, .9e-3: false} {
		r := alone("open", 2000, 2000, func(_ *record.Comparison, a *record.Arm) {
			a.P99, a.Disturbed.Late[stats.P99] = new(12.4e-3), stats.Known(lag)
		})
		if got := summary(t, r); strings.Contains(got, "The load itself was late by") != want {
			t.Errorf("late by %g s: got\n%s", lag, got)
		}
	}
}

// The answer tells why requests got no good reply, each cause in its own words.
func TestAttackAnswersForFailures(t *testing.T) {
	t.Parallel()
	for want, failures := range map[string]map[string]int{
		"Nothing answered at U: the port is closed, no server listens there; start the server, or mend the port.":                                                     {"refused": 10},
		"Nothing answered at U: the server reset the connection.":                                                                                                     {"reset": 10},
		"No whole reply came from U: the server closed the connection in the middle of its reply.":                                                                    {"reply cut short": 10},
		"Nothing answered at U: the server closed the connection without a reply.":                                                                                    {"closed without a reply": 10},
		"No whole reply came from U: what came back is not HTTP.":                                                                                                     {"malformed reply": 10},
		"Nothing answered at U: no reply came within the timeout.":                                                                                                    {"timed out": 10},
		"Nothing answered at U: its certificate is signed by no authority that this machine knows; --insecure takes any certificate.":                                 {"untrusted certificate": 10},
		"Nothing answered at U: its certificate has expired, or is not valid yet; --insecure takes any certificate.":                                                  {"expired certificate": 10},
		"Nothing answered at U: the host's name has no address; mend the name.":                                                                                       {"name not found": 10},
		"Nothing answered at U: 8 of 10 times the server reset the connection.":                                                                                       {"reset": 8, "timed out": 2},
		"No request got a good reply: status 404 (Not Found).":                                                                                                        {"status 404": 10},
		"No request got a good reply: 9 of 10 times status 503 (Service Unavailable).":                                                                                {"status 503": 9, "reset": 1},
		"7 of 10 requests got a good reply: mean 1.00 s of all, and a mean of 2.00 s of the good ones, from the scheduled time. The others: reset: 2, status 500: 1.": {"reset": 2, "status 500": 1},
	} {
		failed := 0
		for _, n := range failures {
			failed += n
		}
		r := alone("open", 10, 10-failed, func(_ *record.Comparison, a *record.Arm) { a.Failures, a.GoodMean = failures, new(2.) })
		if got := summary(t, r); !strings.Contains(strings.Join(strings.Fields(got), " "), want) || strings.Contains(got, "redirect") {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
	r := alone("open", 10, 10, func(r *record.Comparison, _ *record.Arm) {
		r.Doubts = []fact.Fact{doubt.Redirects.Of(doubt.Redirection{Share: 1, Status: 302}).On("U")}
	})
	if got, want := summary(t, r), "It answered 100 % of its requests with a redirect (status 302), which is not followed: ask for the page that it names."; !strings.Contains(got, want) {
		t.Errorf("no %q in\n%s", want, got)
	}
}

// The summary of an attack that has everything to tell fits on a screen, the answer first;
// what the generator did is for those who ask. JSON has the answer, too.
func TestAttackAnswersOnAScreen(t *testing.T) {
	t.Parallel()
	r := alone("open", 20_000, 19_990, func(r *record.Comparison, a *record.Arm) {
		r.Scenario, r.Status, r.Doubts = "quick", record.Interrupted, []fact.Fact{{Code: "virtualised"}}
		a.Clients.Engine, a.Clients.Idle, a.P50, a.P90, a.P99, a.Failures = "spin", 30, new(2.), new(3.), new(4.), map[string]int{"status 503": 5, "reset": 5}
		a.Fairness, a.Sessions = &record.Fairness{Asked: 64, Served: 64}, &record.SessionTimes{Complete: 10, P50: new(1.)}
		a.Phases = []timeline.Phase{{Name: "lag", Mean: .1, Tail: .2}, {Name: "ingress", Mean: .9, Tail: 4}}
	})
	const answer = "19,990 of 20,000 requests got a good reply: p99 4.00 s, from the scheduled time."
	const screen = 24 // lines of a terminal
	for verbose, generator := range map[bool]bool{false: false, true: true} {
		var b bytes.Buffer
		if err := Write(&b, "text", r, verbose, report.TextOptions{}); err != nil {
			t.Fatal(err)
		}
		lines := strings.Split(strings.TrimSuffix(b.String(), "\n"), "\n")
		if !verbose && len(lines) > screen || !strings.HasPrefix(lines[1], answer) {
			t.Errorf("got %d lines, want %d at most, the answer first:\n%s", len(lines), screen, b.String())
		}
		if strings.Contains(b.String(), "\ngenerator ") != generator {
			t.Errorf("verbose %v: the generator is there or not, wrongly:\n%s", verbose, b.String())
		}
	}
	var b bytes.Buffer
	var back record.Comparison
	if err := Write(&b, "json", r, false, report.TextOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(b.Bytes(), &back); err != nil || !strings.HasPrefix(strings.ReplaceAll(back.Headline, say.NBSP, " "), answer) || *back.Arms[0].P99 != 4 {
		t.Errorf("%v, headline %q in\n%s", err, back.Headline, b.String())
	}
}
