package profile_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/pprof"
	"runtime/trace"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	googleprofile "github.com/google/pprof/profile"

	"schedlab/internal/measuring/profile"
	"schedlab/internal/shared/stats"
)

// synthetic is a profile of stacks, written root first with dots: "main.a main.b" → value.
func synthetic(t *testing.T, stacks map[string]int64) *profile.Tree {
	t.Helper()
	tree, err := profile.Parse(encoded(t, "cpu", stacks), nil)
	if err != nil {
		t.Fatal(err)
	}
	return tree
}

func encoded(t *testing.T, kind string, stacks map[string]int64) []byte {
	t.Helper()
	p := &googleprofile.Profile{SampleType: []*googleprofile.ValueType{{Type: kind, Unit: "count"}}}
	known := map[string]*googleprofile.Location{}
	for stack, v := range stacks {
		s := &googleprofile.Sample{Value: []int64{v}}
		for name := range strings.FieldsSeq(stack) {
			l := known[name]
			if l == nil {
				f := &googleprofile.Function{ID: uint64(len(known) + 1), Name: name}
				l = &googleprofile.Location{ID: f.ID, Line: []googleprofile.Line{{Function: f}}}
				known[name] = l
				p.Function, p.Location = append(p.Function, f), append(p.Location, l)
			}
			s.Location = append([]*googleprofile.Location{l}, s.Location...)
		}
		p.Sample = append(p.Sample, s)
	}
	var b bytes.Buffer
	if err := p.Write(&b); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestLayout(t *testing.T) {
	t.Parallel()
	base := synthetic(t, map[string]int64{"main.a main.b": 50, "main.a": 50})
	tree := synthetic(t, map[string]int64{"main.a main.b": 2, "main.a main.c": 1, "main.d": 1})
	want := []profile.Frame{
		{Name: "all", Share: 1},
		{Name: "main.a", Depth: 1, Share: .75, Change: -.25},
		{Name: "main.b", Depth: 2, Share: .5, Change: 0},
		{Name: "main.c", Depth: 2, Left: .5, Share: .25, Change: .25},
		{Name: "main.d", Depth: 1, Left: .75, Share: .25, Change: .25},
	}
	if diff := cmp.Diff(want, tree.Layout(base)); diff != "" {
		t.Errorf("beside another (-want, +got):\n%s", diff)
	}
	for i := range want {
		want[i].Change = 0
	}
	if diff := cmp.Diff(want, tree.Layout(nil)); diff != "" {
		t.Errorf("alone (-want, +got):\n%s", diff)
	}
}

// A function that only calls others has no share of its own; one that the other profile lacks
// has 0 there; and what a few samples make appear is left out.
func TestChanges(t *testing.T) {
	t.Parallel()
	from := synthetic(t, map[string]int64{"main.a main.b": 800, "main.a main.c": 200})
	to := synthetic(t, map[string]int64{"main.a main.b": 500, "main.d main.c": 200, "main.e": 299, "main.once": 1})
	want := []profile.FunctionShare{{Function: "main.b", From: .8, To: .5}, {Function: "main.e", To: .299}}
	if diff := cmp.Diff(want, profile.Changes(from, to, stats.Alpha, 5).Moved); diff != "" {
		t.Errorf("changes (-want, +got):\n%s", diff)
	}
	if diff := cmp.Diff(want[:1], profile.Changes(from, to, stats.Alpha, 1).Moved); diff != "" {
		t.Errorf("the largest change (-want, +got):\n%s", diff)
	}
	few := synthetic(t, map[string]int64{"main.b": 1, "main.c": 1})
	if got := profile.Changes(few, few, stats.Alpha, 5); got.Moved != nil || got.Least != 1 {
		t.Errorf("of two samples each: %+v", got)
	}
}

// A reader's profiles of 43 and 67 samples: sha256 is new, everything else is as it was.
func TestChangesOfFewSamples(t *testing.T) {
	t.Parallel()
	from, to := map[string]int64{"syscall": 14, "epoll": 6, "parse": 3}, map[string]int64{"syscall": 16, "epoll": 7, "parse": 4, "sha256": 17}
	for i := range 23 {
		name := fmt.Sprintf("rare%d", i)
		to[name] = 1
		if i < 20 {
			from[name] = 1
		}
	}
	got := profile.Changes(synthetic(t, from), synthetic(t, to), stats.Alpha, 5)
	if len(got.Moved) != 1 || got.Moved[0].Function != "sha256" || got.Least < .05 || got.Least > 17./67 {
		t.Errorf("got %+v, want sha256 alone", got)
	}
}

// ofModule returns the tree of a CPU profile of a program of this module.
func ofModule(t *testing.T, module string, stacks map[string]int64) *profile.Tree {
	t.Helper()
	tree, err := profile.Parse(encoded(t, "cpu", stacks), []string{module})
	if err != nil {
		t.Fatal(err)
	}
	return tree
}

// A function of the module that has two thirds of the samples, and a quarter more than before: its share hardly changes, so what is
// named is where the samples were added. A CPU that became slower by a tenth adds none that chance would not.
func TestLeadWhereNoShareSurelyChanged(t *testing.T) {
	t.Parallel()
	const handle = "serve main.handle"
	timed := func(stacks map[string]int64) *profile.Tree {
		tree := ofModule(t, "example.com/svc", stacks)
		tree.Seconds = 15
		return tree
	}
	from := timed(map[string]int64{handle: 6, handle + " main.weigh": 100, handle + " main.weigh sum": 136, "gc": 135})
	to := timed(map[string]int64{handle: 8, handle + " main.weigh": 129, handle + " main.weigh sum": 160, "gc": 140})
	got := profile.Changes(from, to, stats.Alpha, 5)
	if diff := cmp.Diff(profile.Change{Leads: &profile.Lead{Function: "main.weigh", From: 236, To: 289, Of: 60}, Least: got.Least}, got); diff != "" {
		t.Errorf("(-want, +got):\n%s", diff)
	}
	slower := timed(map[string]int64{handle: 7, handle + " main.weigh": 110, handle + " main.weigh sum": 150, "gc": 148})
	if got := profile.Changes(from, slower, stats.Alpha, 5); got.Leads != nil {
		t.Errorf("a slower CPU: %+v", got.Leads)
	}
	if got := profile.Changes(to, from, stats.Alpha, 5); got.Leads != nil {
		t.Errorf("the other way round, where nothing was added: %+v", got.Leads)
	}
	to.Seconds = 20
	if got := profile.Changes(from, to, stats.Alpha, 5); got.Leads != nil {
		t.Errorf("in a longer time: %+v", got.Leads)
	}
	// Callers without a sample of their own have as many as what they call.
	before, after := timed(map[string]int64{handle + " main.a main.z": 236, "gc": 141}), timed(map[string]int64{handle + " main.a main.z": 289, "gc": 148})
	if got := profile.Changes(before, after, stats.Alpha, 5); got.Leads == nil || got.Leads.Function != "main.z" {
		t.Errorf("the innermost of three that all have them: %+v", got.Leads)
	}
}

// Beside a function of another module stands the nearest caller in the program's own, with all that it calls; recursion
// counts once. Of two callers it is the one through which the share changed.
func TestCallerInTheModule(t *testing.T) {
	t.Parallel()
	parsed := func(stacks map[string]int64) *profile.Tree { return ofModule(t, "example.com/svc/v1.2", stacks) }
	const (
		handle, check = "serve main.handle", "example.com/svc/v1%2e2.(*T[go.shape/x.int]).check"
		old           = handle + " write"
	)
	from := parsed(map[string]int64{old: 50, "gc": 50, handle + " log sum": 10})
	to := parsed(map[string]int64{old: 50, "gc": 5, handle + " log sum": 10, handle + " " + check + " " + check + " example.com/other.wrap sum": 60})
	want := []profile.FunctionShare{
		{Function: "sum", From: 10. / 110, To: 70. / 125, Caller: &profile.CallerShare{Function: check, To: 60. / 125}},
		{Function: "gc", From: 50. / 110, To: 5. / 125},
	}
	if diff := cmp.Diff(want, profile.Changes(from, to, stats.Alpha, 5).Moved); diff != "" {
		t.Errorf("changes (-want, +got):\n%s", diff)
	}
	// A caller of a small part of the samples explains no change.
	to = parsed(map[string]int64{old: 50, "gc": 4, "serve main.main gc": 1, handle + " log sum": 10, handle + " new": 60})
	for _, f := range profile.Changes(from, to, stats.Alpha, 5).Moved {
		if f.Function == "gc" && f.Caller != nil {
			t.Errorf("gc: got the caller %+v, want none", *f.Caller)
		}
	}
	// A function of the module needs no caller.
	to = parsed(map[string]int64{old: 50, "gc": 50, handle + " " + check: 60})
	want = []profile.FunctionShare{{Function: check, To: 60. / 160}}
	if diff := cmp.Diff(want, profile.Changes(from, to, stats.Alpha, 1).Moved); diff != "" {
		t.Errorf("of the module (-want, +got):\n%s", diff)
	}
}

// A cost that is spread over many functions of a library is named by the innermost function of the module that all of it
// goes through.
func TestSpreadCostIsItsCallers(t *testing.T) {
	t.Parallel()
	from := map[string]int64{"serve main.handle write": 200, "serve main.handle main.total parse": 10}
	to := map[string]int64{"serve main.handle write": 200, "serve main.handle main.total parse": 10}
	for i := range 40 {
		to[fmt.Sprintf("serve main.handle main.total encode%d", i)] = 1
	}
	got := profile.Changes(synthetic(t, from), synthetic(t, to), stats.Alpha, 5)
	want := []profile.FunctionShare{
		{Function: "main.total", From: 10. / 210, To: 50. / 250, Callees: true},
		{Function: "write", From: 200. / 210, To: 200. / 250, Caller: &profile.CallerShare{Function: "main.handle", From: 1, To: 1}},
	}
	if diff := cmp.Diff(want, got.Moved); diff != "" {
		t.Errorf("(-want, +got):\n%s", diff)
	}
}

func TestParseTellsOfAnEmptyOrDamagedProfile(t *testing.T) {
	t.Parallel()
	if _, err := profile.Parse(encoded(t, "cpu", nil), nil); !errors.Is(err, profile.ErrEmpty) {
		t.Errorf("empty: got %v, want ErrEmpty", err)
	}
	if _, err := profile.Parse([]byte("no profile"), nil); err == nil || errors.Is(err, profile.ErrEmpty) {
		t.Errorf("damaged: got %v, want an error of parsing", err)
	}
}

// Goroutines count with the time between the profiles, and those that serve a profile do not.
func TestWall(t *testing.T) {
	t.Parallel()
	one := encoded(t, "goroutine", map[string]int64{"main.a main.wait": 3, "net/http.serve net/http/pprof.Index": 1})
	two := encoded(t, "goroutine", map[string]int64{"main.a main.wait": 1, "main.a": 4})
	data, err := profile.Wall([][]byte{one, two}, 10*time.Millisecond)
	if err != nil {
		t.Fatal(err)
	}
	p, err := googleprofile.ParseData(data)
	if err != nil {
		t.Fatal(err)
	}
	sum := int64(0)
	for _, s := range p.Sample {
		sum += s.Value[0]
	}
	if want := int64(80 * time.Millisecond); sum != want || p.SampleType[0].Type != "wall" || len(p.Sample) != 2 {
		t.Errorf("got %d ns of %v in %d stacks, want %d ns of wall in 2", sum, p.SampleType[0], len(p.Sample), want)
	}
}

var kept [][]byte

//go:noinline
func allocateMuch() {
	for range 64 {
		kept = append(kept, make([]byte, 1<<20))
	}
	kept = nil
}

// What a real runtime writes can be read, and holds what ran between the two profiles.
func TestRealProfiles(t *testing.T) {
	heap := func() []byte {
		runtime.GC()
		var b bytes.Buffer
		if err := pprof.Lookup("heap").WriteTo(&b, 0); err != nil {
			t.Fatal(err)
		}
		return b.Bytes()
	}
	before := heap()
	allocateMuch()
	data, err := profile.Allocated(before, heap())
	if err != nil {
		t.Fatal(err)
	}
	tree, err := profile.Parse(data, nil)
	if err != nil {
		t.Fatal(err)
	}
	found := 0.0
	for _, f := range tree.Layout(nil) {
		if strings.HasSuffix(f.Name, ".allocateMuch") {
			found += f.Share
		}
	}
	if found < .5 || found > 1 {
		t.Errorf("allocateMuch has a share of %.2f, want more than half", found)
	}
}

// The parts of a request add up to its region, whatever its goroutine did; a wait has its
// reason, and go tool trace reads the file.
func TestRequestsOfATrace(t *testing.T) {
	var b bytes.Buffer
	if err := trace.Start(&b); err != nil {
		t.Skip("a trace is being taken already: ", err)
	}
	const many = 20
	var clock time.Duration
	for range many {
		region := trace.StartRegion(context.Background(), profile.Region)
		began := time.Now()
		time.Sleep(2 * time.Millisecond)
		for time.Since(began) < 3*time.Millisecond {
		}
		clock += time.Since(began)
		region.End()
	}
	trace.Stop()
	got, err := profile.Requests(b.Bytes())
	if err != nil || got == nil {
		t.Fatal(got, err)
	}
	sum, sleep := 0.0, 0.0
	for _, s := range got.States {
		sum += s.Mean
		if s.State == "waiting: sleep" {
			sleep = s.Mean
		}
	}
	want := clock.Seconds() / many
	if got.Requests != many || math.Abs(sum-got.Mean) > 1e-9 || math.Abs(got.Mean-want) > .1*want || sleep < .002 {
		t.Errorf("got %+v (the states sum to %g), want %d requests of %g s with 2 ms asleep", got, sum, many, want)
	}
	file := filepath.Join(t.TempDir(), "trace.out")
	if err := os.WriteFile(file, b.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("go", "tool", "trace", "-pprof=sched", file).CombinedOutput(); err != nil {
		t.Errorf("go tool trace: %v: %s", err, out)
	}
}
