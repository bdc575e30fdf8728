package runner

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"schedlab/internal/measuring/expect"
	"schedlab/internal/measuring/judge"
	"schedlab/internal/measuring/window"
	"schedlab/internal/shared/mode"
	"schedlab/internal/shared/record"
	"schedlab/internal/shared/stats"
)

// A scripted race takes arms out after the blocks told, and is its own referee.
type scripted struct {
	judge.Winner
	racing []string
	out    map[int][]string // after this block
}

func (*scripted) Needs([]expect.Expectation, int) judge.Needs {
	return judge.Needs{Quantiles: []stats.Figure{stats.P50, stats.P99}, Comparisons: 132, Bases: 1, Stretch: 1}
}

func (s *scripted) Start(record.Run) (Referee, error) { return s, nil }

func (*scripted) Result(*record.Dir, record.Run) (record.Result, error) { return nil, nil }

func (*scripted) Take(record.TrialRecord, error) {}

func (*scripted) Taken(int, string) (w window.Window) { return w }

func (s *scripted) Lost(arm string) {
	s.racing = slices.DeleteFunc(slices.Clone(s.racing), func(name string) bool { return name == arm })
}

func (s *scripted) Look(block int) (record.Result, []string) {
	for _, arm := range s.out[block] {
		s.Lost(arm)
	}
	return nil, s.racing
}

const raceText = "name: race\nquestion: Which is best?\nworkload: {cpu: 20us, sleep: 10ms}\nload: {rate: 2400/s, keepalive: false}\narms: [nethttp, fasthttp, {name: pool, mode: pool, workers: 40}]\n"

// An arm that is out takes no more windows, nor does one that failed; the others go on in the order of each block, until the budget has
// no room for another.
func TestARaceGoesOnWithTheArmsThatAreLeft(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &scripted{racing: []string{"nethttp", "fasthttp", "pool"}, out: map[int][]string{3: {"pool"}}}
		p := planned(t, raceText, func(o *Options) { o.Race, o.Budget = s, 60*time.Second })
		var ran []string
		r := racing{lab: lab{began: time.Now()}, plan: probed{plan: p}, referee: s, write: func(record.Run) error { return nil }}
		r.trial = func(_ context.Context, number, block int, a arm) (record.TrialRecord, error) {
			time.Sleep(time.Second)
			if a.Name == "fasthttp" && block == 4 {
				return record.TrialRecord{}, errors.New(`arm "fasthttp": it ended`)
			}
			ran = append(ran, fmt.Sprint(block+1, " ", a.Name))
			if number != len(ran) {
				t.Errorf("trial %d has the number %d", len(ran), number)
			}
			return record.TrialRecord{}, nil
		}
		err := r.blocks(t.Context())
		if err == nil || !strings.Contains(err.Error(), "it ended") || r.run.Ends["fasthttp"].Why != "it ended" {
			t.Errorf("error %v, ends %v", err, r.run.Ends)
		}
		// Three blocks of three, one of two, and one in which an arm failed and a single one was left.
		if want := 3*3 + 2 + 1; len(ran) != want || r.run.Trials != want {
			t.Errorf("%d trials, %d in the record, want %d: %q", len(ran), r.run.Trials, want, ran)
		}
		for i, first := range p.Order[0] {
			if want := fmt.Sprint(1, " ", p.Arms[first].Name); ran[i] != want {
				t.Errorf("trial %d is %q, want %q", i+1, ran[i], want)
			}
		}
	})
}

func TestARaceEndsWithItsBudget(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &scripted{racing: []string{"nethttp", "fasthttp", "pool"}}
		p := planned(t, raceText, func(o *Options) { o.Race, o.Budget = s, 60*time.Second })
		r := racing{lab: lab{began: time.Now()}, plan: probed{plan: p}, referee: s}
		r.trial = func(ctx context.Context, _, block int, _ arm) (record.TrialRecord, error) {
			takes := time.Second
			if block == 15 { // slower than those before
				takes = time.Minute
			}
			select {
			case <-time.After(takes):
				return record.TrialRecord{}, nil
			case <-ctx.Done():
				return record.TrialRecord{}, ctx.Err()
			}
		}
		if err := r.blocks(t.Context()); err != nil {
			t.Error(err)
		}
		if took := time.Since(r.began); took > p.budget || r.run.Trials != 45 {
			t.Errorf("%d trials in %v of %v", r.run.Trials, took, p.budget)
		}
	})
}

// A race whose probes left no room for a block has no answer, and says so.
func TestARaceWithoutRoom(t *testing.T) {
	t.Parallel()
	s := &scripted{racing: []string{"nethttp", "fasthttp", "pool"}}
	p := planned(t, raceText, func(o *Options) { o.Race, o.Budget = s, 60*time.Second })
	r := racing{lab: lab{began: time.Now().Add(-p.budget)}, plan: probed{plan: p}, referee: s}
	err := r.blocks(t.Context())
	if _, is := errors.AsType[*Impossible](err); !is || !strings.Contains(err.Error(), "no room for a block") {
		t.Errorf("got %v, want that the budget has no room", err)
	}
}

// Arms that cannot serve the load by their settings do not race, and the plan tells why. Windows are as long as leaves room for half as many
// blocks again as the first look needs.
func TestThePlanOfARace(t *testing.T) {
	t.Parallel()
	text := strings.Replace(raceText, "{name: pool, mode: pool, workers: 40}]", "{name: pool, mode: pool, workers: 40}, {name: small, mode: pool, workers: 4}, {name: loop, mode: loop}]", 1)
	p := planned(t, text, func(o *Options) {
		o.Modes["loop"] = mode.Mode{Flags: []string{"listeners"}, Station: "loops", Loops: true}
		o.Race, o.Budget = &scripted{}, 30*time.Second
	})
	var names []string
	for _, a := range p.Arms {
		names = append(names, a.Name+" "+string(a.Role))
	}
	if want := []string{"nethttp baseline", "fasthttp challenger", "pool challenger"}; !slices.Equal(names, want) {
		t.Errorf("arms %q, want %q", names, want)
	}
	told := strings.Join(doubts(p.recorded()), "\n")
	for _, want := range []string{"small: does not fit the load: 4 workers cannot keep up", "loop: does not fit the load: its handlers run on"} {
		if !strings.Contains(told, want) {
			t.Errorf("the doubts do not tell %q:\n%s", want, told)
		}
	}
	first := p.Feasible.First
	if first != stats.FirstLook(132, 1) || p.Looks[0] != first || p.cost(first*3/2) > p.budget || p.Budget.Duration != p.budget {
		t.Errorf("first look %d of %v, %d of them take %v, the budget is %v", first, p.Looks, first*3/2, p.cost(first*3/2), p.budget)
	}
	// Only the first arm is probed.
	for i := range p.Arms {
		p.Arms[i].load.Rate.OfSlowest = .7
	}
	for i, a := range p.Arms {
		if got := p.probes(a); got != (i == 0) {
			t.Errorf("%s is probed: %v", a.Name, got)
		}
	}
	o := options()
	o.Race, o.Budget = &scripted{}, 5*time.Second
	if _, err := newPlan(parsed(t, raceText), o); err == nil || !strings.Contains(err.Error(), "a race of 3 arms tells nothing before block ") {
		t.Errorf("a budget without room for the first look: %v", err)
	}
}
