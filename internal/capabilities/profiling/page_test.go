package profiling

import (
	"encoding/xml"
	"errors"
	"io"
	"strings"
	"testing"

	"schedlab/internal/measuring/profile"
	"schedlab/internal/measuring/report/document"
	"schedlab/internal/measuring/report/say"
	"schedlab/internal/shared/record"
)

// A flame graph is well-formed, has a title for each frame, and its text fits its frame.
func TestFlameSVG(t *testing.T) {
	t.Parallel()
	f := Flame{Kind: "cpu", Arm: "pool", Base: "nethttp", Frames: []profile.Frame{
		{Name: "all", Share: 1},
		{Name: "example.com/long/package.(*T[go.shape.int]).Method<x>", Depth: 1, Share: .12, Change: .03},
		{Name: "runtime.futex", Depth: 1, Left: .12, Share: .01, Change: -.05},
	}}
	var b strings.Builder
	if err := FlameSVG(&b, f); err != nil {
		t.Fatal(err)
	}
	for d := xml.NewDecoder(strings.NewReader(b.String())); ; {
		if _, err := d.Token(); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
	}
	for _, want := range []string{
		">cpu: pool, red where its share is larger than with nethttp, blue where it is smaller</text>",
		"example.com/long/package.(*T[go.shape.int]).Method&lt;x&gt;: 12.00\u00a0% of the samples, +3.00 points</title>",
		"runtime.futex: 1.00\u00a0% of the samples, -5.00 points</title>",
		`fill: rgb(255,`,
		`fill: rgb(149,149,255)`, // a tenth of the samples has the full colour, half of that 0.7 of it
	} {
		if !strings.Contains(strings.ReplaceAll(b.String(), "&#43;", "+"), want) {
			t.Errorf("no %q in\n%s", want, b.String())
		}
	}
	if strings.Contains(b.String(), ">runtime.futex</text>") {
		t.Error("a frame 10 px wide has a text")
	}
}

// The states of two arms' requests stand side by side; a state that one never had is 0, an
// arm without a trace has none.
func TestRequestStates(t *testing.T) {
	t.Parallel()
	rows := requestStates([]Arm{
		{Arm: "a", Requests: &profile.RequestTimes{Mean: 3e-3, P99: 4e-3, States: []profile.StateTime{{State: "running", Mean: 3e-3, P99: 4e-3}}}},
		{Arm: "b", Requests: &profile.RequestTimes{Mean: 2e-3, P99: 2e-3, States: []profile.StateTime{{State: "waiting: select", Mean: 2e-3, P99: 2e-3}}}},
		{Arm: "c"},
	})
	var lines []string
	for _, r := range rows {
		lines = append(lines, strings.Join(r, "|"))
	}
	zero := say.Seconds(0)
	want := strings.Join([]string{
		"|a|p99|b|p99|c|p99",
		"running|" + say.Seconds(3e-3) + "|" + say.Seconds(4e-3) + "|" + zero + "|" + zero + "|" + say.None + "|" + say.None,
		"waiting: select|" + zero + "|" + zero + "|" + say.Seconds(2e-3) + "|" + say.Seconds(2e-3) + "|" + say.None + "|" + say.None,
		"all|" + say.Seconds(3e-3) + "|" + say.Seconds(4e-3) + "|" + say.Seconds(2e-3) + "|" + say.Seconds(2e-3) + "|" + say.None + "|" + say.None,
	}, "\n")
	if got := strings.Join(lines, "\n"); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// Profiles say of which arm there was nothing to capture, and that so few samples differ by
// chance.
func TestProfiled(t *testing.T) {
	t.Parallel()
	say := func(p Profiles) string {
		return document.Document{Parts: []document.Part{p.Section(&record.Common{Dir: "runs/a run"})}}.Text(document.Options{Width: 200})
	}
	for _, tc := range []struct {
		arms []Arm
		want string
	}{
		{[]Arm{{Arm: "nginx"}}, "nginx shows no profiles: no /debug/pprof at the host of its metrics (metrics=...), or without"},
		{[]Arm{{Arm: "a", Samples: 100}, {Arm: "b", Samples: 100}}, "no function's share of the CPU samples surely differs"},
		{[]Arm{{Arm: "a", Samples: 43}, {Arm: "b", Samples: 67, Change: profile.Change{Least: .119}}},
			"surely differs\n\n    43 and 67 samples: too few to name a function whose share changed by less than 11.9 %; a higher --rate gives more."},
		{[]Arm{{Arm: "a", Samples: 300}, {Arm: "b", Samples: 3, Change: profile.Change{Least: 1}}}, "300 and 3 samples: too few to name any function; a higher --rate gives more."},
		{[]Arm{{Arm: "a", Samples: 300, Seconds: 2.01}, {Arm: "b", Samples: 3}, {Arm: "c", Samples: 400, Seconds: 2.03, Change: profile.Change{Moved: []profile.FunctionShare{{Function: "read", From: .5, To: .2}, {Function: "main.f", From: .1, To: .3}}}}},
			"changed most from a to c (in their own share of 300 CPU samples of a and 400 of c, in 2 and 2 s)\n    main.f +20.0"},
		{[]Arm{{Arm: "a", Samples: 43}, {Arm: "b", Samples: 67, Change: profile.Change{Moved: []profile.FunctionShare{
			{Function: "crypto/sha256.block", To: .254, Caller: &profile.CallerShare{Function: "main.price", From: .1, To: .3}}}}}},
			"crypto/sha256.block +25.4 % of CPU samples (25.4 % instead of 0.0 %), called by main.price (with all that it calls, 30.0 % instead of 10.0 %)"},
		{[]Arm{{Arm: "a", Files: []string{"profiles/a/trace.out"}}}, "go tool trace 'runs/a run/profiles/a/trace.out'"},
	} {
		if got := say(Profiles{Arms: tc.arms}); !strings.Contains(got, tc.want) {
			t.Errorf("got\n%s\nwant %q in it", got, tc.want)
		}
	}
}
