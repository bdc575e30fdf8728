package judge

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"schedlab/internal/measuring/report"
	"schedlab/internal/shared/record"
	"schedlab/internal/shared/request"
	"schedlab/internal/shared/stats"
)

func doubtTexts(r *record.Comparison) (texts []string) {
	for _, d := range r.Doubts {
		texts = append(texts, report.Doubt(d))
	}
	return texts
}

// wantRefused checks that every verdict on an arm is refused for one reason.
func wantRefused(t *testing.T, r *record.Comparison, arm, reason string) {
	t.Helper()
	for _, v := range r.Verdicts {
		if v.Arm == arm && (v.Verdict.String() != "refused" || words(v.Reason) != reason) {
			t.Errorf("%s of %s: got %s, %q\nwant refused, %q", v.Metric, arm, v.Verdict, words(v.Reason), reason)
		}
	}
}

// Two thirds of the blocks noisy, in both arms alike: all of them count.
func TestNoisyBlocksCount(t *testing.T) {
	t.Parallel()
	noisy := func(t *record.Trial, requests []request.Request) []request.Request {
		if t.Block%3 == 0 {
			return requests
		}
		t.Server.Foreign, t.Client.Steal, t.Client.Throttled, t.Client.CPU = .3, .2, .05, .95
		return some(50, func(r *request.Request) {
			r.Sent += 5e6
			r.Done = max(r.Done, r.Sent)
		})(t, requests)
	}
	r := synthetic{times: scaled(map[string]float64{"pool": 1.5}), edit: noisy}.judged(t)
	if r.Valid != 12 || len(r.Refused) != 0 || decisions(r, "fasthttp")["p99"] != "SAME" {
		t.Errorf("%d blocks, refused %v, fasthttp %v; want all 12, and SAME", r.Valid, r.Refused, decisions(r, "fasthttp"))
	}
	for metric, look := range map[string]int{"p50": 10, "p90": 10} {
		if v := verdictOf(t, r.Verdicts, "pool", metric); v.Verdict.String() != "SLOWER" || v.Look != look || v.Blocks != 12 {
			t.Errorf("%s: %+v, want SLOWER at look %d", metric, v, look)
		}
	}
	if d := r.Arms[0].Disturbed; d == nil || d.Foreign != .3 || math.Abs(d.Steal-.1) > 1e-9 || d.Throttled != .05 || d.Late[stats.P99].Or(0) < 4e-3 || r.Env.StealRatio < .06 {
		t.Errorf("the figures beside it: %+v, steal %v", d, r.Env.StealRatio)
	}
}

// A stall that fails the requests of one block is noise; failures in most blocks are not.
func TestErrorsOfAFewBlocks(t *testing.T) {
	t.Parallel()
	stalled := func(blocks ...int) synthetic {
		return synthetic{times: scaled(map[string]float64{"pool": 1.5}), edit: at("fasthttp", some(3, func(r *request.Request) {
			r.Done, r.Status, r.Outcome = r.Sent+15e6, 0, request.TimedOut
		}), blocks...)}
	}
	few := stalled(4).judged(t)
	if got := decisions(few, "fasthttp"); got["p50"] == "refused" || decisions(few, "pool")["p99"] != "SLOWER" || few.Arms[2].Errors == 0 {
		t.Errorf("one block of twelve: fasthttp %v, pool %v, %d errors", got, decisions(few, "pool"), few.Arms[2].Errors)
	}
	many := stalled(1, 3, 4, 6, 7, 9, 11).judged(t)
	if v := verdictOf(t, many.Verdicts, "fasthttp", "p50"); v.Reason.Code != causeErrors.Code {
		t.Errorf("seven blocks of twelve: %+v", v)
	}
}

// Before the first look a run leans, and says how many blocks would settle it.
func TestLeans(t *testing.T) {
	t.Parallel()
	r := synthetic{blocks: 9, status: record.Interrupted, times: scaled(map[string]float64{"pool": 1.5})}.judged(t)
	for metric, want := range map[string]record.Verdict{
		"p99":     {Verdict: decision("open"), Lean: "SLOWER", Needed: 10, Blocks: 9, Lost: 9},
		"goodput": {Verdict: decision("open"), Needed: 10, Blocks: 9},
	} {
		v := verdictOf(t, r.Verdicts, "pool", metric)
		if v.Verdict != want.Verdict || v.Lean != want.Lean || v.Needed != want.Needed || v.Blocks != 9 || v.Low != 0 || v.Ratio == 0 || want.Lost > 0 && v.Lost != want.Lost {
			t.Errorf("%s: got %+v, want %+v", metric, v, want)
		}
	}
}

// Blocks whose data are wrong or not whole are left out, and told.
func TestWrongBlocksAreTold(t *testing.T) {
	t.Parallel()
	gone := at("fasthttp", func(*record.Trial, []request.Request) []request.Request { return nil }, 5, 6)
	wrong := each("pool", func(t *record.Trial) { t.Server.Accepted++ }, 3)
	r := synthetic{edit: func(t *record.Trial, requests []request.Request) []request.Request {
		return gone(t, wrong(t, requests))
	}}.judged(t)
	if want := "3 blocks of 12 left out, for all arms: flow law (connections), trials that are missing, failed or cannot be read"; r.Valid != 9 || !slices.Contains(doubtTexts(r), want) {
		t.Errorf("%d blocks, doubts %q\nwant %q", r.Valid, doubtTexts(r), want)
	}
}

func TestCutShort(t *testing.T) {
	t.Parallel()
	for _, status := range []record.Status{record.Interrupted, record.Partial} {
		r := synthetic{status: status, blocks: 11, times: scaled(map[string]float64{"fasthttp": .5}), edit: at("pool", func(*record.Trial, []request.Request) []request.Request { return nil }, 11)}.judged(t)
		if got := decisions(r, "fasthttp"); got["p99"] != "FASTER" || got["goodput"] != "SAME" {
			t.Errorf("the looks that it reached decide: got %v", got)
		}
		if want := fmt.Sprintf("the run is %s and is judged by the 10 blocks that it has", status); doubtTexts(r)[0] != want || r.Status != status {
			t.Errorf("got the doubts %q of a run that is %s, want %q first", doubtTexts(r), r.Status, want)
		}
		if r.Arms[0].P99 == nil || r.Arms[0].Requests != 10*1200 {
			t.Errorf("the figures of the blocks that there are: got %+v", r.Arms[0])
		}
	}
	none := synthetic{status: record.Partial, edit: func(*record.Trial, []request.Request) []request.Request { return nil }}.judged(t)
	wantRefused(t, none, "pool", "no block has run: the run was cut short")
	if v := none.Verdicts[0]; v.Reason.Code != causeNoBlocks.Code || report.Headline(none) != "No verdict: no block has run: the run was cut short." {
		t.Errorf("got %+v, %q", v, report.Headline(none))
	}
	if _, err := json.Marshal(none); err != nil {
		t.Error(err)
	}
	// Where the run says why it ended, the answer does, and the doubt does not say it again.
	none = synthetic{status: record.Partial, failure: "no good reply\nof pool", edit: func(*record.Trial, []request.Request) []request.Request { return nil }}.judged(t)
	wantRefused(t, none, "pool", "no block has run: no good reply")
	if got := doubtTexts(none); slices.ContainsFunc(got, func(d string) bool { return strings.Contains(d, "no good reply") }) {
		t.Errorf("got the doubts %q, want the reason in the answer only", got)
	}
}

// A run killed outright still says running, and may leave half a trial.
func TestKilledRun(t *testing.T) {
	t.Parallel()
	dir, run := synthetic{status: record.Running, blocks: 11}.write(t)
	if err := os.Mkdir(filepath.Join(dir.Path(), "trials", "045-pool.unfinished"), 0o755); err != nil {
		t.Fatal(err)
	}
	r, err := comparisonOf(dir, run)
	if err != nil {
		t.Fatal(err)
	}
	if got := doubtTexts(r); !slices.Contains(got, "1 trial cut short and left out") || got[0] != "the run was cut off or still goes on and is judged by the 11 blocks that it has" {
		t.Errorf("got the doubts %q", got)
	}
	if r.Valid != 11 || decisions(r, "pool")["p99"] != "SAME" {
		t.Errorf("%d valid blocks, %v", r.Valid, decisions(r, "pool"))
	}
}

// What cannot be read or does not belong is a doubt, and its block is left out.
func TestDamagedTrials(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, doubt string
		edit        func(*record.Trial, []request.Request) []request.Request
	}{
		{"a dead server", "pool: trial 11 is left out: it died", each("pool", func(t *record.Trial) { t.Failure = "it died" }, 3)},
		{"a foreign arm", `ghost: trial 11 is left out: the plan has no arm "ghost"`, each("pool", func(t *record.Trial) { t.Arm = "ghost" }, 3)},
		{"another window", "pool: trial 11 is left out: it has 0.1 + 0 s, the plan 0.1 + 1 s", each("pool", func(t *record.Trial) { t.Window = record.Span{} }, 3)},
		{"the same twice", "pool: trial 11 is left out: block 2 has another trial of this arm", each("pool", func(t *record.Trial) { t.Block = 2 }, 3)},
	} {
		r := synthetic{edit: c.edit}.judged(t)
		if r.Valid != 11 || !slices.Contains(doubtTexts(r), c.doubt) {
			t.Errorf("%s: %d valid blocks, doubts %q, want 11 and %q", c.name, r.Valid, doubtTexts(r), c.doubt)
		}
	}
	dir, run := synthetic{}.write(t)
	file := filepath.Join(dir.Path(), "trials", "011-pool", "requests.col.gz")
	if err := os.Truncate(file, 100); err != nil {
		t.Fatal(err)
	}
	r, err := comparisonOf(dir, run)
	if err != nil {
		t.Fatal(err)
	}
	doubt := fmt.Sprintf("a trial could not be read and is left out: reading %q: ", file)
	if r.Valid != 11 || !slices.ContainsFunc(doubtTexts(r), func(s string) bool { return strings.HasPrefix(s, doubt) }) {
		t.Errorf("a truncated file: %d valid blocks, doubts %q, want 11 and %q", r.Valid, doubtTexts(r), doubt)
	}
}

func TestDamagedPlan(t *testing.T) {
	t.Parallel()
	dir, run := synthetic{blocks: 1}.write(t)
	run.Plan.Order[2] = []int{0, 4}
	want := fmt.Sprintf("judging %q: run.json is damaged: block 3 orders arm 5 of 4", dir.Path())
	if _, err := FromRecord(dir, run); err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
	if err := os.RemoveAll(filepath.Join(dir.Path(), "trials")); err != nil {
		t.Fatal(err)
	}
	run.Plan = record.Plan{}
	if _, err := FromRecord(dir, run); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no trials: got %v, want that they do not exist", err)
	}
}

// The answer is a function of the record: not of the order of its trials, nor
// of when it is computed.
func TestJudgeAgain(t *testing.T) {
	t.Parallel()
	s := synthetic{
		times: scaled(map[string]float64{"fasthttp": .8, "pool": 1.3}),
		edit: func(tr *record.Trial, requests []request.Request) []request.Request {
			tr.Client.Steal = 1e-3 / float64(tr.Number) // a sum that depends on its order
			tr.Server.Foreign = .2 * float64(stats.Count(tr.Block == 4))
			if tr.Arm == "pool" {
				return some(90, func(r *request.Request) { r.Status = 404 + uint16(r.Scheduled%3) })(tr, requests)
			}
			return requests
		},
	}
	want := s.judged(t)
	asJSON := func(r *record.Comparison) string {
		r.Dir, r.Run = "", ""
		text, err := json.MarshalIndent(r, "", " ")
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	wantJSON := asJSON(want)
	s.number = func(n int) int { return 49 - n }
	dir, _ := s.write(t)
	for range 4 {
		opened, run, err := record.Open(dir.Path(), ".")
		if err != nil {
			t.Fatal(err)
		}
		got, err := comparisonOf(opened, run)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(wantJSON, asJSON(got)); diff != "" {
			t.Fatalf("(-want +got):\n%s", diff)
		}
	}
}

// A run of which no block is whole is not "judged by the 0 blocks that it has".
func TestNoWholeBlockIsSaid(t *testing.T) {
	t.Parallel()
	none, two := 0, 2
	for valid, want := range map[*int]string{&none: "the run is partial and is not judged: no block of it is whole: why", &two: "the run is partial and is judged by the 2 blocks that it has: why", nil: "the run is partial: why"} {
		if got := notComplete(record.Run{Status: record.Partial, Failure: "why"}, valid).String(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
