package experiment

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"schedlab/internal/record"
)

func doubtTexts(r *record.Result) (texts []string) {
	for _, d := range r.Doubts {
		texts = append(texts, d.String())
	}
	return texts
}

// wantRefused checks that every verdict on an arm is refused for one reason.
func wantRefused(t *testing.T, r *record.Result, arm, reason string) {
	t.Helper()
	for _, v := range r.Verdicts {
		if v.Arm == arm && (v.Verdict != "REFUSED" || v.Reason != reason) {
			t.Errorf("%s of %s: got %s, %q\nwant REFUSED, %q", v.Metric, arm, v.Verdict, v.Reason, reason)
		}
	}
}

func TestTooFewBlocks(t *testing.T) {
	t.Parallel()
	busy := func(blocks ...int) func(*record.Trial, []record.Request) []record.Request {
		return each("pool", func(t *record.Trial) { t.Server.Foreign = .2 }, blocks...)
	}
	if r := (synthetic{edit: busy(3, 7)}).judged(t); r.Valid != 10 || decisions(r, "fasthttp")["p99"] != "SAME" {
		t.Errorf("two blocks refused: %d valid, verdicts %v, want 10 and SAME", r.Valid, decisions(r, "fasthttp"))
	}
	r := synthetic{times: scaled(map[string]float64{"fasthttp": .5}), edit: busy(3, 7, 8)}.judged(t)
	const reason = "9 valid blocks of 12, fewer than 10"
	wantRefused(t, r, "fasthttp", reason)
	wantRefused(t, r, "pool", reason)
	for _, v := range r.AA {
		if v.Verdict != "REFUSED" || v.Reason != reason {
			t.Errorf("A/A of %s: got %s, %q", v.Metric, v.Verdict, v.Reason)
		}
	}
	if r.Winner != "undecided" || r.Headline != "No verdict: "+reason+". Mostly other programs used the server's CPUs: stop them, or choose CPUs with --server-cpus." || len(r.Refused) != 3 {
		t.Errorf("got %q, %q, refused %v", r.Winner, r.Headline, r.Refused)
	}
	why := "the budget of 1m15s has no room for 3 more spare blocks in place of those refused; raise --budget to 1m22s"
	short := synthetic{edit: busy(3, 7, 8), plan: func(p *record.Plan) { p.Unspared = why }}.judged(t)
	if want := "No verdict: " + reason + ": " + why + ". Mostly "; !strings.HasPrefix(short.Headline, want) {
		t.Errorf("got %q, want %q first", short.Headline, want)
	}
}

// Blocks that are lost without a broken rule are counted with those that broke one.
func TestLostBlocksAreCounted(t *testing.T) {
	t.Parallel()
	gone := at("fasthttp", func(*record.Trial, []record.Request) []record.Request { return nil }, 5, 6)
	busy := each("pool", func(t *record.Trial) { t.Server.Foreign = .2 }, 3, 7)
	const reason = "No verdict: 8 valid blocks of 12, fewer than 10."
	r := synthetic{edit: func(t *record.Trial, requests []record.Request) []record.Request { return gone(t, busy(t, requests)) }}.judged(t)
	if want := reason + " Of 4 blocks lost, in 2 trials are missing, failed or cannot be read; " +
		"in 2 other programs used the server's CPUs: stop them, or choose CPUs with --server-cpus."; r.Headline != want {
		t.Errorf("got  %s\nwant %s", r.Headline, want)
	}
	r = synthetic{edit: at("fasthttp", func(*record.Trial, []record.Request) []record.Request { return nil }, 1, 2, 5, 6)}.judged(t)
	if want := reason + " In 4 of 4 blocks lost, trials are missing, failed or cannot be read."; r.Headline != want {
		t.Errorf("got  %s\nwant %s", r.Headline, want)
	}
}

func TestCutShort(t *testing.T) {
	t.Parallel()
	for _, status := range []record.Status{record.Interrupted, record.Partial} {
		r := synthetic{status: status, blocks: 5, edit: at("pool", func(*record.Trial, []record.Request) []record.Request { return nil }, 5)}.judged(t)
		wantRefused(t, r, "fasthttp", "4 valid blocks, fewer than 10: the run was cut short")
		if want := fmt.Sprintf("the run is %s: 4 of 12 planned blocks count", status); r.Doubts[0].Text != want || r.Status != status {
			t.Errorf("got the doubts %q of a run that is %s, want %q first", doubtTexts(r), r.Status, want)
		}
		if r.Arms[0].P99 == nil || r.Arms[0].Requests != 4*1200 {
			t.Errorf("the figures of the blocks that there are: got %+v", r.Arms[0])
		}
	}
	none := synthetic{status: record.Partial, edit: func(*record.Trial, []record.Request) []record.Request { return nil }}.judged(t)
	wantRefused(t, none, "pool", "0 valid blocks, fewer than 10: the run was cut short")
	if _, err := json.Marshal(none); err != nil {
		t.Error(err)
	}
}

// A run killed outright still says running, and may leave half a trial.
func TestKilledRun(t *testing.T) {
	t.Parallel()
	dir, run := synthetic{status: record.Running, blocks: 11}.write(t)
	if err := os.Mkdir(filepath.Join(dir.Path(), "trials", "045-pool.unfinished"), 0o755); err != nil {
		t.Fatal(err)
	}
	r, err := Judge(dir, run)
	if err != nil {
		t.Fatal(err)
	}
	if got := doubtTexts(r); !slices.Contains(got, "1 trial cut short and left out") || got[0] != "the run was cut off or still goes on: 11 of 12 planned blocks count" {
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
		edit        func(*record.Trial, []record.Request) []record.Request
	}{
		{"a dead server", "pool: trial 11 is left out: it died", each("pool", func(t *record.Trial) { t.Failure = "it died" }, 3)},
		{"a foreign arm", `ghost: trial 11 is left out: the plan has no arm "ghost"`, each("pool", func(t *record.Trial) { t.Arm = "ghost" }, 3)},
		{"another window", "pool: trial 11 is left out: it has 0.1 + 0 s, the plan 0.1 + 1 s", each("pool", func(t *record.Trial) { t.Window = 0 }, 3)},
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
	r, err := Judge(dir, run)
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
	if _, err := Judge(dir, run); err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
	if err := os.RemoveAll(filepath.Join(dir.Path(), "trials")); err != nil {
		t.Fatal(err)
	}
	run.Plan = record.Plan{}
	if _, err := Judge(dir, run); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no trials: got %v, want that they do not exist", err)
	}
}

// The answer is a function of the record: not of the order of its trials, nor
// of when it is computed.
func TestJudgeAgain(t *testing.T) {
	t.Parallel()
	s := synthetic{
		times: scaled(map[string]float64{"fasthttp": .8, "pool": 1.3}),
		edit: func(tr *record.Trial, requests []record.Request) []record.Request {
			tr.Client.Steal = 1e-3 / float64(tr.Number) // a sum that depends on its order
			tr.Server.Foreign = .2 * float64(count(tr.Block == 4))
			if tr.Arm == "pool" {
				return some(90, func(r *record.Request) { r.Status = 404 + uint16(r.Scheduled%3) })(tr, requests)
			}
			return requests
		},
	}
	want := s.judged(t)
	asJSON := func(r *record.Result) string {
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
		got, err := Judge(opened, run)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(wantJSON, asJSON(got)); diff != "" {
			t.Fatalf("(-want +got):\n%s", diff)
		}
	}
}
