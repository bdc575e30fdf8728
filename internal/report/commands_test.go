package report

import (
	"bytes"
	"regexp"
	"strings"
	"testing"

	"schedlab/internal/record"
)

// summary renders a and collapses the columns.
func summary(t *testing.T, a record.Attack) string {
	t.Helper()
	var b bytes.Buffer
	if err := Attack(&b, &a, true, TextOptions{Width: 400}); err != nil {
		t.Fatal(err)
	}
	return regexp.MustCompile(" +").ReplaceAllString(b.String(), " ")
}

// A quantile is shown when ten requests lie beyond it.
func TestAttackShowsQuantilesWithEvidence(t *testing.T) {
	t.Parallel()
	for n, want := range map[int64]string{
		19:     "response (from the scheduled time) - - - - 6.00 s 1.00 s",
		20:     "response (from the scheduled time) 2.00 s - - - 6.00 s 1.00 s",
		999:    "response (from the scheduled time) 2.00 s 3.00 s - - 6.00 s 1.00 s",
		1_000:  "response (from the scheduled time) 2.00 s 3.00 s 4.00 s - 6.00 s 1.00 s",
		10_000: "response (from the scheduled time) 2.00 s 3.00 s 4.00 s 5.00 s 6.00 s 1.00 s",
	} {
		a := record.Attack{Response: record.Quantiles{Count: n, Mean: 1, P50: 2, P90: 3, P99: 4, P999: 5, Max: 6}}
		if got := summary(t, a); !strings.Contains(got, want) {
			t.Errorf("%d requests: no %q in\n%s", n, want, got)
		}
	}
}

// Counts add up, and a loop without a schedule has no lag and nothing scheduled.
func TestAttackTellsWhatItsLoopHas(t *testing.T) {
	t.Parallel()
	a := record.Attack{
		Loop: "open", Offered: 200, Status: record.Interrupted,
		Scheduled: 1980, Sent: 299, Good: 290, Failed: 5, CutOff: 4, SentRate: 200, Goodput: 194,
		Connect: record.Quantiles{Count: 299, Max: .1}, FirstError: -1,
	}
	for _, want := range []string{
		"INTERRUPTED\n", "290 of 295 requests got a good reply: ",
		"requests 1,980 scheduled, 299 sent (200/s), 290 good (194/s), 5 without a reply, 4 cut off at the end, 1,681 never sent\n",
		", from the scheduled time.\n", "connection (waiting, opening) 0 s 0 s - - 100 ms 0 s\n",
	} {
		if got := summary(t, a); !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
	a.Loop, a.Offered, a.Scheduled = "closed", 0, 299
	got := summary(t, a)
	for _, not := range []string{"schedul", "lag", "never"} {
		if strings.Contains(strings.ReplaceAll(got, "there is no schedule", ""), not) {
			t.Errorf("%q in the summary of a closed loop without a pace:\n%s", not, got)
		}
	}
	a.Offered = 100
	a.Lag = record.Quantiles{Count: 20}
	if got := summary(t, a); !strings.Contains(got, "from the scheduled time") || !strings.Contains(got, "lag") {
		t.Errorf("no schedule in the summary of paced clients:\n%s", got)
	}
}

// The answer counts the connections that were never served.
func TestAttackAnswersForStarvedConnections(t *testing.T) {
	t.Parallel()
	a := record.Attack{Loop: "open", Offered: 200, Scheduled: 20, Sent: 20, Good: 20, Asked: 64, FirstError: -1}
	const starved = "60 of 64 connections got no reply at all, and the times of good replies are those of the others: "
	if got := summary(t, a); strings.Contains(got, "no reply at all") {
		t.Errorf("starved connections where none is:\n%s", got)
	}
	a.Starved = 60
	if got := summary(t, a); !strings.Contains(got, starved) {
		t.Errorf("no %q in\n%s", starved, got)
	}
}

// The answer says that the load was late where that is much of the time.
func TestAttackAnswersForALateLoad(t *testing.T) {
	t.Parallel()
	a := record.Attack{Loop: "open", Offered: 200, Scheduled: 2000, Sent: 2000, Good: 2000, FirstError: -1}
	a.Response, a.Lag = record.Quantiles{Count: 2000, P99: 12.4e-3}, record.Quantiles{Count: 2000}
	for lag, want := range map[float64]bool{2.36e-3: true, 1.1e-3: false, .9e-3: false} {
		a.Lag.P99 = lag
		if got := summary(t, a); strings.Contains(got, "The load itself was late by") != want {
			t.Errorf("late by %g s: got\n%s", lag, got)
		}
	}
}

// The answer tells why requests got no good reply, each cause in its own words.
func TestAttackAnswersForFailures(t *testing.T) {
	t.Parallel()
	answered := record.Answered.String()
	for want, a := range map[string]record.Attack{
		"Nothing answered at U: the port is closed, no server listens there; start the server, or mend the port.":                     {Outcomes: map[string]int{"refused": 10}},
		"Nothing answered at U: the server reset the connection.":                                                                     {Outcomes: map[string]int{"reset": 10}},
		"No whole reply came from U: the server closed the connection in the middle of its reply.":                                    {Outcomes: map[string]int{"reply cut short": 10}},
		"Nothing answered at U: the server closed the connection without a reply.":                                                    {Outcomes: map[string]int{"closed without a reply": 10}},
		"No whole reply came from U: what came back is not HTTP.":                                                                     {Outcomes: map[string]int{"malformed reply": 10}},
		"Nothing answered at U: no reply came within the timeout.":                                                                    {Outcomes: map[string]int{"timed out": 10}},
		"Nothing answered at U: its certificate is signed by no authority that this machine knows; --insecure takes any certificate.": {Outcomes: map[string]int{"untrusted certificate": 10}},
		"Nothing answered at U: its certificate has expired, or is not valid yet; --insecure takes any certificate.":                  {Outcomes: map[string]int{"expired certificate": 10}},
		"Nothing answered at U: the host's name has no address; mend the name.":                                                       {Outcomes: map[string]int{"name not found": 10}},
		"Nothing answered at U: 8 of 10 times the server reset the connection.":                                                       {Outcomes: map[string]int{"reset": 8, "timed out": 2}},
		"No request got a good reply: status 404 (Not Found).":                                                                        {Outcomes: map[string]int{answered: 10}, Statuses: map[uint16]int{404: 10}},
		"No request got a good reply: 9 of 10 times status 503 (Service Unavailable).":                                                {Outcomes: map[string]int{answered: 9, "reset": 1}, Statuses: map[uint16]int{503: 9}},
		"The others: reset: 2, status 500: 1.":                                                                                        {Good: 7, Outcomes: map[string]int{answered: 8, "reset": 2}, Statuses: map[uint16]int{200: 7, 500: 1}},
		"10 of the replies are redirects (301, 302), and none was followed: ask for the page that they name.":                         {Good: 10, Outcomes: map[string]int{answered: 10}, Statuses: map[uint16]int{301: 4, 302: 6}},
	} {
		a.Target, a.Loop, a.Offered, a.Scheduled, a.Sent, a.FirstError = "U", "open", 100, 10, 10, -1
		if got := summary(t, a); !strings.Contains(strings.Join(strings.Fields(got), " "), want) || strings.Contains(got, "redirects") != strings.Contains(want, "redirects") {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
	a := record.Attack{Statuses: map[uint16]int{304: 10}}
	if n, _ := a.Redirects(); n != 0 {
		t.Errorf("%d replies 304 are redirects", n)
	}
}

// The summary of an attack that has everything to tell fits on a screen, the answer first;
// what the generator did is for those who ask.
func TestAttackAnswersOnAScreen(t *testing.T) {
	t.Parallel()
	q := record.Quantiles{Count: 20_000, Mean: 1, P50: 2, P90: 3, P99: 4, P999: 5, Max: 6}
	a := record.Attack{
		Target: "http://127.0.0.1:8080/work", Scenario: "quick", Engine: "spin", Loop: "open", Offered: 2000, Arrivals: "poisson", Status: record.Interrupted,
		Scheduled: 30_000, Sent: 20_000, Good: 19_990, Failed: 5, CutOff: 5, SentRate: 2000, Goodput: 1999, FirstError: .5,
		Response: q, GoodResponse: q, Lag: q, Connect: q, Service: q, Statuses: map[uint16]int{200: 19_990, 503: 5}, Outcomes: map[string]int{"answered": 19_995, "reset": 5},
		Connections: 64, Asked: 64, Dialled: 70, Sessions: &record.Sessions{Complete: 10, Duration: q}, Idle: &record.IdleConns{Asked: 30, Opened: 30, Answered: 30},
		Generator: &record.Generator{Busy: .3}, Doubts: []record.Fact{{Code: record.Virtualised}},
	}
	for verbose, generator := range map[bool]bool{false: false, true: true} {
		var b bytes.Buffer
		if err := Attack(&b, &a, verbose, TextOptions{}); err != nil {
			t.Fatal(err)
		}
		lines := strings.Split(strings.TrimSuffix(b.String(), "\n"), "\n")
		if !verbose && len(lines) > briefLines || !strings.HasPrefix(lines[1], "19,990 of 19,995 requests got a good reply: p99 4.00 s, from the scheduled time.") {
			t.Errorf("got %d lines, want %d at most, the answer first:\n%s", len(lines), briefLines, b.String())
		}
		if strings.Contains(b.String(), "\ngenerator ") != generator {
			t.Errorf("verbose %v: the generator is there or not, wrongly:\n%s", verbose, b.String())
		}
	}
}

// A tested choice says for each model whether it kept the SLO.
func TestChoiceSaysWhoKeptTheSLO(t *testing.T) {
	t.Parallel()
	kept := record.Fact{Code: "test", Text: "pool kept p99<=10ms in 12 of 12 blocks"}
	broke := record.Fact{Code: "test", Text: "goroutine did NOT keep p99<=10ms"}
	var got strings.Builder
	if err := WriteChoice(&got, "text", record.Choice{Verified: &record.ChoiceTest{Keeps: []record.Fact{kept, broke}, Dir: "runs/x"}}); err != nil {
		t.Fatal(err)
	}
	if !regexp.MustCompile(`(?m)^ *Kept +pool kept p99<=10ms in 12 of 12 blocks\n +goroutine did NOT keep p99<=10ms`).MatchString(got.String()) {
		t.Errorf("got %s", &got)
	}
}
