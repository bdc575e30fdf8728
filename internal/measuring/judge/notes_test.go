package judge

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"schedlab/internal/shared/fact"
	"schedlab/internal/shared/record"
	"schedlab/internal/shared/request"
	"schedlab/internal/shared/stats"
)

// What the trials serverDoubts of their servers is told once, and footprints are medians.
func TestNotes(t *testing.T) {
	t.Parallel()
	s := synthetic{edit: func(trial *record.Trial, requests []request.Request) []request.Request {
		if trial.Arm != "pool" {
			trial.Server.Footprint = &record.Footprint{Memory: int64(trial.Block) << 20, Threads: 4, Processes: 1}
		}
		if trial.Arm == "pool" {
			trial.Server.CPU = -1
		}
		if trial.Arm == "fasthttp" || trial.Arm == "nethttp'" {
			trial.Server.Doubts = []fact.Fact{{Code: "odd"}, {Code: fact.Code(fmt.Sprintf("odd %d", trial.Block))}}
		}
		return requests
	}}
	dir, run := s.write(t)
	r, err := comparisonOf(dir, run)
	if err != nil {
		t.Fatal(err)
	}
	var odd []string
	for _, d := range r.Doubts {
		if strings.HasPrefix(d.String(), "odd") {
			odd = append(odd, d.Arm+": "+d.String())
		}
	}
	if want := []string{"fasthttp: odd", "fasthttp: odd 1", "fasthttp: odd 2", "fasthttp: odd 3"}; !cmp.Equal(odd, want) {
		t.Errorf("got %q, want %q", odd, want)
	}
	for _, v := range r.Verdicts {
		if unknown := v.Metric == stats.CPUPerRequest && v.Arm == "pool"; unknown != (words(v.Reason) == "the server CPU time of pool is not known in block 1: the machine does not tell it of this server") {
			t.Errorf("got %+v", v)
		}
	}
	for _, a := range r.Arms {
		switch f := a.Footprint; {
		case a.Name == "pool" && f != nil:
			t.Errorf("pool's is not known: got %+v", f)
		case a.Name != "pool" && (f == nil || f.Memory < 6<<20 || f.Memory > 7<<20 || f.Threads != 4):
			t.Errorf("%s: got %+v, want the median of 1 to 12 MiB", a.Name, f)
		}
	}
}
