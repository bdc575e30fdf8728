package judge

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"schedlab/internal/record"
	"schedlab/internal/report"
)

// inBlock restricts an edit to one block of every arm.
func inBlock(block int, change func(*record.Trial, []record.Request) []record.Request) func(*record.Trial, []record.Request) []record.Request {
	return func(t *record.Trial, requests []record.Request) []record.Request {
		if t.Block != block {
			return requests
		}
		return change(t, requests)
	}
}

// late answers every request after the window has ended, as when the machine stands still.
func late(_ *record.Trial, requests []record.Request) []record.Request {
	for i := range requests {
		requests[i].Done = int64((fakeWarmup+fakeWindow)*1e9) + int64(i)*1000
	}
	return requests
}

// never answers no request.
func never(_ *record.Trial, requests []record.Request) []record.Request {
	for i := range requests {
		requests[i].Done, requests[i].Status, requests[i].Outcome = requests[i].Sent+15e6, 0, record.TimedOut
	}
	return requests
}

// screen returns the short report in one line.
func screen(t *testing.T, r *record.Result) string {
	t.Helper()
	var b bytes.Buffer
	if err := report.Brief(&b, r, report.TextOptions{}); err != nil {
		t.Fatal(err)
	}
	return strings.Join(strings.Fields(strings.ReplaceAll(b.String(), "\u00a0", " ")), " ")
}

// A block in which the machine stood still for every arm is left out and told. It changes no verdict.
func TestStalledBlockIsLeftOut(t *testing.T) {
	t.Parallel()
	for name, stall := range map[string]func(*record.Trial, []record.Request) []record.Request{"late": late, "never": never} {
		r := synthetic{edit: inBlock(3, stall)}.judged(t)
		if got := screen(t, r); r.Valid != fakeBlocks-1 || !strings.Contains(got, "11 blocks, 1 left out") {
			t.Errorf("%s: %d blocks count: %s", name, r.Valid, got)
		}
		const want = "1 block of 12 left out, for all arms: good replies (no arm gave one: the machine stood still)"
		if got := doubtTexts(r); !slices.Contains(got, want) {
			t.Errorf("%s: got the doubts %q", name, got)
		}
		if v := verdictOf(t, r.Verdicts, "pool", "p50"); v.Verdict != "SAME" {
			t.Errorf("%s: got %+v", name, v)
		}
	}
}

// A block in which one arm alone gave no good reply counts. The missing replies are told, and so is why a
// metric has no verdict.
func TestSilentArmKeepsItsBlock(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		edit                func(*record.Trial, []record.Request) []record.Request
		metric, says, doubt string
	}{
		{late, "goodput", "in block 3 nethttp answered none of its requests before the window ended, so that it has no goodput", "nethttp: it answered none of its requests before the window ended in block 3"},
		{never, "p50", "in block 3 nethttp answered none of its requests, so that it has no p50", "nethttp: it answered none of its requests in block 3"},
	} {
		r := synthetic{edit: at("nethttp", c.edit, 3)}.judged(t)
		got := screen(t, r)
		if r.Valid != fakeBlocks || !strings.Contains(got, c.doubt) || strings.Contains(got, "every request got a good reply") {
			t.Errorf("%s: %d blocks count: %s", c.metric, r.Valid, got)
		}
		if why := words(verdictOf(t, r.Verdicts, "fasthttp", c.metric).Reason); !strings.HasSuffix(why, c.says) {
			t.Errorf("%s: got %q, want %q", c.metric, why, c.says)
		}
		for _, v := range slices.Concat(r.Verdicts, r.AA) {
			if strings.Contains(v.Reason.String(), "positive finite") {
				t.Errorf("%s of %s: %s", v.Metric, v.Arm, v.Reason)
			}
		}
	}
}

// An arm that gives no good reply in most blocks is at fault, not the machine: its blocks count.
func TestFailingArmsAreNotAStall(t *testing.T) {
	t.Parallel()
	r := synthetic{edit: never}.judged(t)
	if r.Valid != fakeBlocks || verdictOf(t, r.Verdicts, "pool", "p50").Reason.Code != causeErrors {
		t.Errorf("%d blocks count: %+v", r.Valid, verdictOf(t, r.Verdicts, "pool", "p50"))
	}
}
