package stats

import (
	"encoding/json"
	"math"
	"slices"
	"testing"
)

// Every figure has a row of the table with a name of its own, and reads its name back.
func TestFiguresHaveNames(t *testing.T) {
	t.Parallel()
	var names []string
	for f := P50; int(f) < numFigures; f++ {
		name := f.String()
		if back, ok := FigureOf(name); name == "" || !ok || back != f || f.Row().Figure != f || slices.Contains(names, name) {
			t.Errorf("figure %d is called %q, which is figure %d of the table", f, name, back)
		}
		names = append(names, name)
	}
	if f, ok := FigureOf("p51"); ok || f != NoFigure {
		t.Errorf("p51 is %v, want no figure", f)
	}
	if f, ok := FigureOf(""); ok || f != NoFigure || f.String() != "" || f.Row() != (Metric{}) {
		t.Errorf("without a name: %v, want no figure", f)
	}
}

// JSON has figures by their names, in the order of an object's keys, and leaves unknown ones out.
func TestFiguresAsJSON(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		of   any
		want string
	}{
		{Figures{P99: Known(.5), Goodput: Known(0), Mean: Known(math.NaN())}, `{"goodput":0,"p99":0.5}`},
		{Figures{}, `{}`},
		{Series{P50: {1, 2}, CPUPerRequest: {}}, `{"cpu_per_request":[],"p50":[1,2]}`},
		{map[Figure]int{P50: 1, CPUPerRequest: 2}, `{"cpu_per_request":2,"p50":1}`},
	} {
		got, err := json.Marshal(c.of)
		if err != nil || string(got) != c.want {
			t.Errorf("got %s, %v; want %s", got, err, c.want)
		}
	}
	var f Figures
	if err := json.Unmarshal([]byte(`{"p99":0.5,"of another version":3}`), &f); err != nil || f != (Figures{P99: Known(.5)}) {
		t.Errorf("read back: %v, %v", f, err)
	}
	var s Series
	if err := json.Unmarshal([]byte(`{"p50":[1,2],"of another version":[3]}`), &s); err != nil || !slices.Equal(s[P50], []float64{1, 2}) || s[NoFigure] != nil {
		t.Errorf("read back: %v, %v", s, err)
	}
}

// What is not known is no 0.
func TestOpt(t *testing.T) {
	t.Parallel()
	for _, unknown := range []Opt{{}, Known(math.NaN())} {
		if v, ok := unknown.Get(); ok || v != 0 || !math.IsNaN(unknown.Float()) || unknown.Or(7) != 7 || unknown.Pointer() != nil {
			t.Errorf("unknown: %v", unknown)
		}
	}
	zero := Known(0)
	if v, ok := zero.Get(); !ok || v != 0 || zero.Float() != 0 || zero.Or(7) != 0 || zero.Pointer() == nil || *zero.Pointer() != 0 {
		t.Errorf("a known 0: %v", zero)
	}
}
