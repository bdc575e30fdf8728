package judge

import (
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"schedlab/internal/record"
	"schedlab/internal/stats"
)

// Any two arms of a record can be compared: as the run did, where it did, and by their blocks
// where it did not.
func TestPairs(t *testing.T) {
	t.Parallel()
	const every = 9 // requests that fasthttp answers with a 500
	dir, run := synthetic{
		times: scaled(map[string]float64{"pool": 2}),
		edit:  at("fasthttp", some(every, func(r *record.Request) { r.Status = http.StatusInternalServerError })),
	}.write(t)
	pairs := []struct {
		Pair
		want stats.Decision
		why  record.Code
	}{
		{Pair{"p50", "nethttp", "pool"}, "SLOWER", ""},
		{Pair{"p50", "nethttp'", "pool"}, "SLOWER", ""},
		{Pair{"p50", "pool", "nethttp"}, "FASTER", ""},
		{Pair{"p50", "nethttp", "nethttp'"}, "SAME", ""},
		{Pair{"p50", "pool", "fasthttp"}, "REFUSED", causeErrors},
		{Pair{"p50", "fasthttp", "pool"}, "REFUSED", causeErrors},
		{Pair{"good_mean", "pool", "fasthttp"}, "FASTER", ""}, // of the good replies, as they are
		{Pair{"goodput", "pool", "fasthttp"}, "LOWER", ""},
		{Pair{"p50", "pool", "ghost"}, "REFUSED", noSuchArm},
		{Pair{"p50", "ghost", "pool"}, "REFUSED", noSuchArm},
	}
	var asked []Pair
	for _, p := range pairs {
		asked = append(asked, p.Pair)
	}
	result, verdicts, err := Pairs(dir, run, asked)
	if err != nil {
		t.Fatal(err)
	}
	for i, p := range pairs {
		v := verdicts[i]
		if v.Verdict != p.want || v.Reason.Code != p.why || v.Arm != p.Arm || v.Baseline != p.Baseline {
			t.Errorf("%+v: got %s for %+v; want %s for %q", p.Pair, v.Verdict, v.Reason, p.want, p.why)
		}
		if v.Reason.Code == noSuchArm && v.Reason.Arm != "ghost" {
			t.Errorf("%+v: no arm %q", p.Pair, v.Reason.Arm)
		}
	}
	own := verdictOf(t, result.Verdicts, "pool", "p50")
	if verdicts[0].Ratio != own.Ratio {
		t.Errorf("the run's own verdict: got %+v, want %+v", verdicts[0], own)
	}
}

// A pair is refused for what the run's own verdicts are: blocks that are missing, clients
// that starve, and a load that was late for one of them.
func TestPairsAreRefused(t *testing.T) {
	t.Parallel()
	late := at("pool", some(1, func(r *record.Request) { r.Sent, r.Done = r.Sent+3e6, r.Done+3e6 }))
	starved := func(t *record.Trial, requests []record.Request) []record.Request {
		if t.Arm == "pool" {
			t.Client.ConnAnswers, t.Client.Asked, t.Client.Starved = []uint32{600, 600, 0}, 10, 9
		}
		return requests
	}
	closed := func(p *record.Plan) {
		for i := range p.Arms {
			p.Arms[i].Clients = record.Clients{Loop: "closed", Connections: 10, Rate: fakeRate}
		}
	}
	for name, c := range map[string]struct {
		run  synthetic
		pair Pair
		why  record.Code
	}{
		"nothing is":                     {synthetic{}, Pair{"p50", "fasthttp", "pool"}, ""},
		"memory that was not measured":   {synthetic{}, Pair{"memory", "fasthttp", "pool"}, causeUnfit},
		"no block":                       {synthetic{edit: each("pool", func(t *record.Trial) { t.Window = 0 })}, Pair{"p50", "fasthttp", "pool"}, causeNoBlocks},
		"an arm was sent to late":        {synthetic{edit: late}, Pair{"p50", "fasthttp", "pool"}, causeImbalance},
		"the good replies of a few":      {synthetic{edit: starved, plan: closed}, Pair{"good_mean", "fasthttp", "pool"}, record.CauseStarvation},
		"the same, as the baseline":      {synthetic{edit: starved, plan: closed}, Pair{"good_mean", "pool", "fasthttp"}, record.CauseStarvation},
		"goodput of clients that starve": {synthetic{edit: starved, plan: closed}, Pair{"goodput", "fasthttp", "pool"}, ""},
	} {
		dir, run := c.run.write(t)
		_, verdicts, err := Pairs(dir, run, []Pair{c.pair})
		if err != nil {
			t.Fatal(err)
		}
		if v := verdicts[0]; v.Reason.Code != c.why || (c.why == "") != (v.Verdict == "SAME") {
			t.Errorf("%s: %s for %+v, want %q", name, v.Verdict, v.Reason, c.why)
		}
	}
}

func TestPairsOfABrokenRecord(t *testing.T) {
	t.Parallel()
	dir, run := synthetic{}.write(t)
	trials := filepath.Join(dir.Path(), "trials")
	if err := os.RemoveAll(trials); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(trials, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, _, err := Pairs(dir, run, nil); err == nil {
		t.Error("a record whose trials cannot be read is judged")
	}
	run.Plan.Arms = nil
	if _, _, err := Pairs(dir, run, nil); err == nil {
		t.Error("a plan without arms is judged")
	}
}
