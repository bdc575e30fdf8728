package main

import (
	"errors"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"schedlab/internal/capabilities/session"
)

// A request on standard input is carried out as the command does it.
func TestOrderIsTheCommand(t *testing.T) {
	t.Parallel()
	calibrated := regexp.MustCompile(`--iters \S+|machine: .*`)
	for _, c := range []struct {
		order string
		argv  []string
	}{
		{`{"compare":{"scenarios":["quick"],"arms":["nethttp","pool"],"vary":["stamps=off,full"],"seed":3,"budget":90000000000,"dry_run":true},"output":"text","progress":"none"}`,
			[]string{"compare", "quick", "--arms", "nethttp,pool", "--vary", "stamps=off,full", "--seed", "3", "--budget", "1m30s", "--dry-run", "--progress", "none"}},
		{`{"capacity":{"slo":"p99<=20ms","workload":"cpu=50us","arms":["nethttp"],"seed":3,"dry_run":true},"output":"text","progress":"none"}`,
			[]string{"capacity", "--slo", "p99<=20ms", "--workload", "cpu=50us", "--arms", "nethttp", "--seed", "3", "--dry-run", "--progress", "none"}},
	} {
		order := exec.Command("schedlab", "order")
		order.Stdin = strings.NewReader(c.order)
		got, want := calibrated.ReplaceAllString(output(t, order), ""), calibrated.ReplaceAllString(output(t, exec.Command("schedlab", c.argv...)), "")
		if diff := cmp.Diff(want, got); diff != "" || !strings.Contains(got, "scenario ") {
			t.Errorf("%s (-command +order):\n%s", c.order, diff)
		}
	}
	order := exec.Command("schedlab", "order")
	order.Stdin = strings.NewReader(`{"compare":{"later":1}}`)
	if said, err := order.CombinedOutput(); !strings.Contains(string(said), "take the same one on both sides") {
		t.Errorf("of another version: %s, %v", said, err)
	} else if ended, ok := errors.AsType[*exec.ExitError](err); !ok || ended.ExitCode() != session.Mistake {
		t.Errorf("of another version: %v", err)
	}
}
