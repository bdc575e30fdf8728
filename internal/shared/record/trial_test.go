package record

import (
	"bytes"
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
