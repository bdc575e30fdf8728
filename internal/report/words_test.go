package report

import (
	"strings"
	"testing"

	"schedlab/internal/record"
)

// A rate that the generator limits is not left to look like the share that was asked
// for, and X_max has its spread beside it.
func TestRateOfTheGeneratorIsTold(t *testing.T) {
	t.Parallel()
	r := &record.Result{Rate: 31900, Env: record.Env{LoadCPUs: "1"}, Arms: []record.Arm{{Name: "a", XMax: new(92000.), Apart: .042}, {Name: "b", XMax: new(82125.)}}}
	for _, c := range []struct {
		sendable float64
		want     string
	}{
		{0, "31,900 requests/s offered to each arm (0.39 of X_max of the slowest, b), "},
		{31900, "31,900 requests/s offered to each arm (0.39 of X_max of the slowest, b, what the load's CPU can send), "},
	} {
		r.Sendable = c.sendable
		if got := strings.ReplaceAll(offered(r), nbsp, " "); !strings.HasPrefix(got, c.want) {
			t.Errorf("got %q, want %q first", got, c.want)
		}
	}
	for i, want := range []string{"92,000/s, halves of the probe 4 % apart", "82,125/s"} {
		if got := strings.ReplaceAll(xmax(r.Arms[i]), nbsp, " "); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// Of requests that failed it is told how they ended, the commonest first.
func TestFailuresAreTold(t *testing.T) {
	t.Parallel()
	arm := record.Arm{Name: "new", Errors: 2007, Requests: 6023, Failures: map[string]int{"timed out": 7, "status 500": 2000}}
	if got, want := complaints(&record.Result{Arms: []record.Arm{arm}})[0], "new: 2,007 requests of 6,023 without a good reply (status 500: 2,000, timed out: 7)"; strings.ReplaceAll(got, nbsp, " ") != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
