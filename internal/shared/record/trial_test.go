package record

import (
	"bytes"
	"math"
	"schedlab/internal/shared/request"
	"strings"
	"testing"
	"time"
)

func TestTrialHistogramTakesEveryRequestOfTheWindow(t *testing.T) {
	t.Parallel()
	trial := Trial{Warmup: Lasting(time.Second), Window: Lasting(2 * time.Second)}
	h := trial.Histogram([]request.Request{
		{Scheduled: 0.999e9, Done: 9e9, Status: 200}, // warm-up
		{Scheduled: 1e9, Sent: 1.2e9, Done: 1.5e9, Status: 200},
		{Scheduled: 2e9, Done: 9e9, Status: 503},
		{Scheduled: 2e9, Done: 9e9, Outcome: request.TimedOut},
		{Scheduled: 3e9, Done: 9e9, Status: 200}, // after the window
	})
	if h.Count() != 3 || h.Quantile(0.1).Round(time.Millisecond) != 500*time.Millisecond || h.Quantile(1).Round(10*time.Millisecond) != 7*time.Second {
		t.Errorf("count %d, shortest %v, longest %v; want 3, 500ms and 7s, from the scheduled times, failures included", h.Count(), h.Quantile(0.1), h.Quantile(1))
	}
	var text bytes.Buffer
	if err := h.WriteHGRM(&text); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"Value", "1/(1-Percentile)", "500.", "#[Mean", "Total count    =            3"} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("distribution lacks %q:\n%s", want, text.String())
		}
	}
}

// The time that other programs took of a server's CPUs takes nothing from its capacity; what its CPUs idled does.
func TestCapacity(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		saturated Saturation
		want      float64
	}{
		{Saturation{Answered: 300, Elapsed: .15}, 2000}, // nobody tells the CPUs' times
		{Saturation{Answered: 300, Elapsed: .15, CPUs: 1, CPU: .15}, 2000},
		{Saturation{Answered: 200, Elapsed: .15, CPUs: 1, CPU: .09, Idle: .01}, 2000}, // others took a third
		{Saturation{Answered: 300, Elapsed: .15, CPUs: 2, CPU: .15, Idle: .15}, 2000}, // two CPUs, each half idle
		{Saturation{Answered: 300, Elapsed: .15, CPUs: 1, CPU: .1, Idle: .06}, 2000},  // clocks are not read at once
		{Saturation{Answered: 300, Elapsed: .15, CPUs: 1, CPU: .1, Idle: .05, LoadLimited: true}, 3000},
	} {
		if got := c.saturated.Capacity(); math.Abs(got-c.want) > 1e-6*c.want {
			t.Errorf("%+v: capacity %v, want %v", c.saturated, got, c.want)
		}
	}
	if got := (Saturation{Failed: 9, Elapsed: .15}).Capacity(); !math.IsNaN(got) {
		t.Errorf("without a good reply the capacity is %v, want none", got)
	}
	// Of a server that was mostly idle the load tells nothing.
	if got := (Saturation{Answered: 300, Elapsed: .15, CPUs: 1, CPU: .05, Idle: .1, LoadLimited: true}).Capacity(); !math.IsNaN(got) {
		t.Errorf("of a server that idles the capacity is %v, want none", got)
	}
}

func TestClassIsText(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]Class{"light=0.99 judged": {"light", .99, true}, "heavy=0.01": {"heavy", .01, false}} {
		var got Class
		if err := got.UnmarshalText([]byte(text)); err != nil || got != want {
			t.Errorf("%q: got %v, %v, want %v", text, got, err, want)
		}
		if back, _ := want.MarshalText(); string(back) != text {
			t.Errorf("%v: got %q, want %q", want, back, text)
		}
	}
	if err := new(Class).UnmarshalText([]byte("light")); err == nil || err.Error() != `"light" is no class of requests like light=0.99` {
		t.Errorf("got %v, want what is wrong", err)
	}
}

// The halves of a saturated turn tell of the server only if it was busy all the time and gave each client many replies.
func TestGrowth(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		s    Saturation
		want float64 // 0 for unknown
	}{
		"busy":       {Saturation{Answered: 3000, Later: 1800, CPUs: 1, CPU: .15}, 1.5},
		"waits":      {Saturation{Answered: 3000, Later: 1800, CPUs: 1, CPU: .12, Idle: .03}, 0},
		"few rounds": {Saturation{Answered: 128, Later: 64, CPUs: 1, CPU: .15}, 0},
		"no clocks":  {Saturation{Answered: 3000, Later: 1800, CPU: .15}, 0},
		"all late":   {Saturation{Answered: 3000, Later: 3000, CPUs: 1, CPU: .15}, 0},
		"all early":  {Saturation{Answered: 3000, CPUs: 1, CPU: .15}, 0},
	} {
		got := c.s.Growth()
		if known := !math.IsNaN(got); known != (c.want > 0) || known && math.Abs(got-c.want) > 1e-9 {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}
