// Package profile computes figures from the data that a Go server serves below /debug/pprof. It
// turns a profile into a flame graph; two profiles into a differential flame graph and the list of
// functions that changed most; and an execution trace into the states in which requests spent
// their time. It captures no profile and opens no file.
package profile

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/google/pprof/profile"

	"schedlab/internal/shared/stats"
)

// ErrEmpty is the error of [Parse] for a profile without samples.
var ErrEmpty = errors.New("the profile holds no samples")

// A Tree is the call tree of a profile: each node is a function on a stack, weighted by the
// profile's last sample type (CPU time, bytes allocated, delay, goroutines or wall time).
//
// Its fields do not change after Parse, so a Tree may be shared.
type Tree struct {
	name     string
	total    int64
	own      bool // in the program's own module
	children map[string]*Tree
	// Samples is the number of samples of a CPU profile, in the function and all that it calls.
	Samples int64
	// Seconds is how long the profile took, 0 if it does not tell. It is set at the root only.
	Seconds float64
}

// Parse reads a profile in pprof's format of a program. modules are the paths of the program's own modules, none if they are
// not known. Parse returns ErrEmpty if the profile has no samples.
func Parse(data []byte, modules []string) (*Tree, error) {
	all, err := parsed(data)
	if err != nil {
		return nil, err
	}
	root := &Tree{name: "all", children: map[string]*Tree{}, Seconds: float64(all[0].DurationNanos) / 1e9}
	for _, s := range all[0].Sample {
		// A CPU profile has two values for each sample: the number of samples, and the CPU time. A heap
		// profile ends with bytes in use, or with bytes allocated after Allocated.
		v := s.Value[len(s.Value)-1]
		if v <= 0 {
			continue
		}
		at := root
		at.total += v
		at.Samples += s.Value[0]
		// Locations begin with the innermost function; the tree begins with the outermost.
		for _, l := range slices.Backward(s.Location) {
			for _, line := range slices.Backward(l.Line) { // pprof lists inlined functions first
				f := cmp.Or(line.Function, &profile.Function{Name: "?"})
				at = at.child(f.Name)
				at.own = inModule(f, modules)
				at.total += v
				at.Samples += s.Value[0]
			}
		}
	}
	if root.total == 0 {
		return nil, ErrEmpty
	}
	return root, nil
}

// child returns the child of that name, which it adds if it is missing.
func (t *Tree) child(name string) *Tree {
	c := t.children[name]
	if c == nil {
		c = &Tree{name: name, children: map[string]*Tree{}}
		t.children[name] = c
	}
	return c
}

// leastShare is the smallest ratio of all samples that a frame must have to be drawn.
// A narrower one would be less than two pixels wide in the report's picture of 1,000.
const leastShare = .002

// Layout returns the frames of the flame graph, callers before callees. The root has depth 0.
// Siblings are in alphabetical order from the left, and each frame is as wide as its ratio of all
// samples. If base is not nil, a frame's Change is its ratio minus the ratio of the same stack in
// base.
//
// A frame's children begin at its left edge. They are together narrower than the frame if the
// frame's function has samples itself.
func (t *Tree) Layout(base *Tree) (frames []Frame) {
	var place func(at, other *Tree, depth int, left float64)
	place = func(at, other *Tree, depth int, left float64) {
		f := Frame{Name: at.name, Depth: depth, Left: left, Share: t.share(at.total)}
		// Its callees are narrower still, so they are left out too.
		if f.Share < leastShare {
			return
		}
		if base != nil {
			f.Change = f.Share
			if other != nil {
				f.Change -= base.share(other.total)
			}
		}
		frames = append(frames, f)
		for _, name := range slices.Sorted(maps.Keys(at.children)) {
			c := at.children[name]
			var beside *Tree // nil: only this tree has the stack
			if other != nil {
				beside = other.children[name]
			}
			place(c, beside, depth+1, left)
			left += t.share(c.total)
		}
	}
	place(t, base, 0, 0)
	return frames
}

// share returns v as a ratio of the tree's total.
func (t *Tree) share(v int64) float64 { return float64(v) / float64(t.total) }

// Changes compares two CPU profiles: which functions have another share of the samples by themselves and, if none has a larger
// one, which of the program's own module have with all that they call. It names at most n functions, the largest change first,
// and only changes that the numbers of samples show (see [stats.DifferentShares], which alpha goes to).
//
// A sample is taken every 10 ms of CPU time. The samples are independent if a request computes for much less than that.
// Shares are compared, and not samples per request, because a CPU that becomes slower changes all samples and no share.
func Changes(from, to *Tree, alpha float64, n int) (c Change) {
	before, after := from.counted(), to.counted()
	var all []FunctionShare
	var olds, news []int
	add := func(old, later map[string]int, callees bool) {
		for _, name := range slices.Sorted(maps.Keys(merged(old, later))) {
			all = append(all, FunctionShare{Function: name, From: ratio(old[name], before.all), To: ratio(later[name], after.all), Callees: callees})
			olds, news = append(olds, old[name]), append(news, later[name])
		}
	}
	add(before.self, after.self, false)
	add(before.with, after.with, true)
	differ, least := stats.DifferentShares(olds, news, before.all, after.all, alpha)
	c.Least = min(1, least)
	var with []FunctionShare
	for i, f := range all {
		switch {
		case !differ[i]:
		case f.Callees:
			with = append(with, f)
		default:
			f.Caller = caller(f.Function, before, after)
			c.Moved = append(c.Moved, f)
		}
	}
	rose := func(f FunctionShare) bool { return f.To > f.From }
	if !slices.ContainsFunc(c.Moved, rose) {
		for _, f := range with {
			// Who calls a function that changed has changed with it.
			inner := func(g FunctionShare) bool { return g.From+g.To < f.From+f.To && g.change() >= .8*f.change() }
			if !slices.ContainsFunc(with, inner) {
				c.Moved = append(c.Moved, f)
			}
		}
	}
	if alike := from.Seconds > 0 && math.Abs(from.Seconds-to.Seconds) < .05*to.Seconds; alike && !slices.ContainsFunc(c.Moved, rose) {
		c.Leads = lead(before, after)
	}
	slices.SortStableFunc(c.Moved, func(a, b FunctionShare) int { return cmp.Compare(b.change(), a.change()) })
	c.Moved = c.Moved[:min(n, len(c.Moved))]
	return c
}

// lead returns the innermost function that has, with all that it calls, half of the samples that were added; nil if none were, or if
// it has gained less than two standard deviations of the numbers.
func lead(from, to counts) (found *Lead) {
	added := to.all - from.all
	if added <= 0 {
		return nil
	}
	for _, name := range slices.Sorted(maps.Keys(to.with)) {
		old, later := from.with[name], to.with[name]
		if gain := float64(later - old); gain <= 0 || gain < .5*float64(added) || gain < 2*math.Sqrt(float64(old+later)) {
			continue
		}
		// Who calls it has gained about as much, and has as many samples or more.
		if found == nil || later < found.To || later == found.To && to.depth[name] > to.depth[found.Function] {
			found = &Lead{Function: name, From: old, To: later, Of: added}
		}
	}
	return found
}

// merged returns a map with the keys of both.
func merged(a, b map[string]int) map[string]int {
	all := maps.Clone(a)
	maps.Copy(all, b)
	return all
}

// Allocated returns a profile of the allocations between two heap profiles, which count from the
// program's start. All three are in pprof's format.
func Allocated(before, after []byte) ([]byte, error) {
	heaps, err := parsed(before, after)
	if err != nil {
		return nil, err
	}
	// Merging with the negated first profile subtracts it, stack by stack.
	heaps[0].Scale(-1)
	p, err := profile.Merge(heaps)
	if err != nil {
		return nil, fmt.Errorf("joining heap profiles: %w", err)
	}
	i := slices.IndexFunc(p.SampleType, func(t *profile.ValueType) bool { return t.Type == "alloc_objects" }) // alloc_space follows
	if i < 0 || i+2 > len(p.SampleType) {
		return nil, errors.New("the heap profile says nothing of allocations")
	}
	p.SampleType, p.DefaultSampleType = p.SampleType[i:i+2], "alloc_space"
	for _, s := range p.Sample {
		s.Value = []int64{max(0, s.Value[i]), max(0, s.Value[i+1])}
	}
	return written(p)
}

// Wall merges goroutine profiles that were taken at intervals of every into a profile of wall
// time. Each goroutine in each profile counts as one interval in its stack, running or not.
// Goroutines that served the profiles are left out.
//
// This is a sampling profiler for waiting as well as for running (felixge/fgprof has the same idea).
// every must be the real interval, or the total is wrong.
func Wall(samples [][]byte, every time.Duration) ([]byte, error) {
	all, err := parsed(samples...)
	if err != nil {
		return nil, err
	}
	for _, p := range all {
		p.Sample = slices.DeleteFunc(p.Sample, servesProfiles) // taking a profile is not the server's work
	}
	p, err := profile.Merge(all)
	if err != nil {
		return nil, fmt.Errorf("joining goroutine profiles: %w", err)
	}
	p.SampleType = []*profile.ValueType{{Type: "wall", Unit: "nanoseconds"}}
	p.DefaultSampleType = "wall"
	p.DurationNanos = int64(every) * int64(len(samples))
	for _, s := range p.Sample {
		s.Value = []int64{s.Value[0] * int64(every)}
	}
	return written(p)
}

// parsed reads profiles in pprof's format.
func parsed(all ...[]byte) (profiles []*profile.Profile, err error) {
	for _, data := range all {
		p, err := profile.ParseData(data)
		if err != nil {
			return nil, fmt.Errorf("parsing a profile: %w", err)
		}
		profiles = append(profiles, p)
	}
	return profiles, nil
}

// servesProfiles reports whether a sample's goroutine was serving a profile.
func servesProfiles(s *profile.Sample) bool {
	return slices.ContainsFunc(s.Location, func(l *profile.Location) bool {
		return slices.ContainsFunc(l.Line, func(line profile.Line) bool {
			return line.Function != nil && strings.HasPrefix(line.Function.Name, "net/http/pprof.")
		})
	})
}

// written returns a profile in pprof's format, compressed.
func written(p *profile.Profile) ([]byte, error) {
	var b bytes.Buffer
	if err := p.Write(&b); err != nil {
		return nil, fmt.Errorf("writing a profile: %w", err)
	}
	return b.Bytes(), nil
}
