package report

import (
	"bytes"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"schedlab/internal/measuring/report/say"
	"schedlab/internal/shared/record"
)

func TestFootprints(t *testing.T) {
	t.Parallel()
	arms := []record.Arm{
		{Details: record.Details{Footprint: &record.Footprint{Memory: 12 << 20, Threads: 7, Processes: 1}}},
		{Details: record.Details{Footprint: &record.Footprint{Memory: 300 << 20, Resident: true, Threads: 1200, Processes: 3}}},
		{Details: record.Details{Footprint: &record.Footprint{Memory: 900, Resident: true, Threads: 1, Processes: 1}}},
		{},
	}
	got := asides(arms)
	want := [][]string{
		{"memory", "12.0" + say.NBSP + "MiB", "≤" + say.NBSP + "300" + say.NBSP + "MiB", "900" + say.NBSP + "B", say.None},
		{"threads", "7", say.Count(1200) + " in 3 processes", "1", say.None},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got := asides(arms[3:]); got != nil {
		t.Errorf("nothing known: got %q", got)
	}
	arms = []record.Arm{{}, {}, {}, {}}
	arms[1].Switches, arms[2].Switches, arms[3].Loops = new(1234.5), new(.0312), new(.417)
	arms[0].Throttled, arms[0].Stops = new(.0493), new(3.17)
	want = [][]string{{"switches/req", say.None, "1,234", "0.031", say.None}, {"stopped by its limit", "4.9" + say.NBSP + "%", say.None, say.None, say.None}, {"periods/s", "3.2", say.None, say.None, say.None}, {"loops' CPU", say.None, say.None, say.None, "42" + say.NBSP + "%"}}
	if diff := cmp.Diff(want, asides(arms)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// Every report for people has the columns, beside each arm's figures.
func TestFootprintsAreShown(t *testing.T) {
	t.Parallel()
	r := quick()
	r.Asked = "5 requests of t.txt in turn"
	for i := range r.Arms {
		r.Arms[i].Footprint = &record.Footprint{Memory: 12 << 20, Peak: 13 << 20, Threads: 7, Processes: 1}
	}
	for _, format := range []string{"text", "markdown", "html"} {
		var b bytes.Buffer
		if err := Formats().Render(&b, format, r); err != nil {
			t.Fatal(err)
		}
		text := strings.ReplaceAll(strings.Join(strings.Fields(b.String()), " "), say.NBSP, " ")
		if n := strings.Count(text, "12.0 MiB"); n != len(r.Arms) {
			t.Errorf("%s names the memory of %d arms of %d", format, n, len(r.Arms))
		}
		if !strings.Contains(text, r.Asked) {
			t.Errorf("%s does not say what was asked", format)
		}
	}
}
