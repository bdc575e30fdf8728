package load

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// Bursts on a server that takes 1 ms and stops for 200 ms every 2 s: through the
// whole attack path, quantiles of response time are those of the distribution
// computed beside it, whether each request finds a connection or eight are shared.
func TestBurstsOnAStallingServerMeetTheTruth(t *testing.T) {
	t.Parallel()
	const service, rate = time.Millisecond, 1000
	for _, connections := range []int{0, 8} {
		for _, spec := range []string{"burst(12)", "burst(12,5ms,396)", "in-phase(64)"} {
			t.Run(fmt.Sprintf("%s/connections=%d", spec, connections), func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					at := parsed(t, spec).Draw(rate, 20*time.Second, nil)
					o := pipeOptions(stalling(t, service), at)
					o.Connections = connections
					res := attack(t, o)
					truth := computed(at, service, connections)
					for _, q := range []float64{0.5, 0.99, 0.999} {
						got, want := quantile(res.Requests, q), truth[int(q*float64(len(truth)))]
						if off := math.Abs(float64(got - want)); off > 0.05*float64(want) && off > 1e5 {
							t.Errorf("p%v is %v, want %v", q*100, got, want)
						}
					}
				})
			})
		}
	}
}

// computed are the response times, ascending, of first come, first served on so
// many connections (0: one each), each of which serves in a fixed time and ends
// nothing during a stall.
func computed(at []time.Duration, service time.Duration, connections int) (times []time.Duration) {
	if connections == 0 {
		connections = len(at)
	}
	free := make([]time.Duration, connections)
	next := 0 // where each request has a connection of its own
	for _, a := range at {
		k := next
		if connections < len(at) {
			k = slices.Index(free, slices.Min(free))
		} else {
			next++
		}
		done := max(a, free[k]) + service
		const period, stall = 2 * time.Second, 200 * time.Millisecond
		if left := period - done%period; left <= stall {
			done += left
		}
		free[k] = done
		times = append(times, done-a)
	}
	slices.Sort(times)
	return times
}

// One answer in a hundred takes 200 ms: p99.5 says so, and the server has been
// asked as often as the generator sent.
func TestEveryHundredthAnswerIsSlow(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var served atomic.Int64
		o := pipeOptions(newPipeServer(t, func(int, string) string {
			if served.Add(1)%100 == 0 {
				time.Sleep(200 * time.Millisecond)
			}
			return okReply
		}), Poisson(1000, 10*time.Second, seeded(5)))
		o.Connections = 64
		res := attack(t, o)
		if got := quantile(res.Requests, 0.995); got < 190*time.Millisecond || got > 210*time.Millisecond {
			t.Errorf("p99.5 is %v, want 200ms within 5 %%", got)
		}
		if got := quantile(res.Requests, 0.985); got != 0 {
			t.Errorf("p98.5 is %v, want 0", got)
		}
		if int(served.Load()) != res.Proof.Sent || res.Proof.Sent != len(o.Trace.At) {
			t.Errorf("served %d, sent %d of %d", served.Load(), res.Proof.Sent, len(o.Trace.At))
		}
	})
}

// A step of the wall clock changes nothing: every stamp comes from a time with a
// monotonic reading, and no code here takes one that has none.
func TestStampsAreMonotonic(t *testing.T) {
	t.Parallel()
	// Not in a bubble, whose clock has no wall.
	res := attack(t, pipeOptions(newPipeServer(t, afterwards(0)), Constant(100, 50*time.Millisecond)))
	if !strings.Contains(res.Start.String(), " m=") {
		t.Errorf("start %v has no monotonic reading", res.Start)
	}
	files, err := filepath.Glob("*.go")
	if err != nil || len(files) == 0 {
		t.Fatalf("found %d files: %v", len(files), err)
	}
	walls := []string{"Unix", "UnixNano", "UnixMicro", "UnixMilli", "UTC", "Local", "In", "Date"}
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			if s, ok := n.(*ast.SelectorExpr); ok && slices.Contains(walls, s.Sel.Name) {
				t.Errorf("%s: %s drops the monotonic reading of a time", name, s.Sel.Name)
			}
			return true
		})
	}
}
