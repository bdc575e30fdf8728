package window

import (
	"testing"

	"schedlab/internal/shared/record"
	"schedlab/internal/shared/stats"
)

// A class has the figures that a trial of its requests alone has, and the judged class has the window's quantiles. All other
// figures of the window are of all requests.
func TestClassesHaveTheirOwnFigures(t *testing.T) {
	t.Parallel()
	trial := mixed()
	var light record.TrialRecord
	for i := range trial.Requests {
		r := &trial.Requests[i]
		if r.Class = uint8(i % 3 / 2); r.Class == 1 {
			r.Done += 5e6
			continue
		}
		light.Requests = append(light.Requests, *r)
	}
	light.Trial = trial.Trial
	clients := record.Clients{Loop: "open", Rate: 10_000}
	all := Reduce(trial, record.Env{}, clients)
	alone := Reduce(light, record.Env{}, clients)
	of := Reducer{Classes: []record.Class{{Name: "light", Share: 2. / 3, Judged: true}, {Name: "heavy", Share: 1. / 3}}}
	got := of.Reduce(trial, record.Env{}, clients)
	if len(got.Classes) != 3 || got.Classes[0].Name != record.AllRequests || got.Classes[1].Name != "light" || got.Classes[2].Name != "heavy" {
		t.Fatalf("got %d classes, want all, light, heavy", len(got.Classes))
	}
	for _, m := range stats.All() {
		f := m.Figure
		want := all.Values[f]
		if m.Quantile > 0 {
			want = alone.Values[f]
		}
		if got.Values[f] != want {
			t.Errorf("%s: got %v, want %v", m.Name, got.Values[f], want)
		}
		if m.ByClass && (got.Classes[0].Values[f] != all.Values[f] || got.Classes[1].Values[f] != alone.Values[f]) {
			t.Errorf("%s by class: got %v and %v, want %v and %v", m.Name, got.Classes[0].Values[f], got.Classes[1].Values[f], all.Values[f], alone.Values[f])
		}
	}
	if got.Requests != all.Requests || got.Judged() != alone.Requests || got.Tau != alone.Tau {
		t.Errorf("got %d requests, %d judged, want %d and %d", got.Requests, got.Judged(), all.Requests, alone.Requests)
	}
	if light, heavy := got.Classes[1], got.Classes[2]; light.Requests+heavy.Requests != got.Requests || light.Good+heavy.Good != got.Good {
		t.Errorf("the classes have %d and %d requests of %d", light.Requests, heavy.Requests, got.Requests)
	}
}
