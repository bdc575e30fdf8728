package main

import (
	"slices"
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"schedlab/internal/measuring/scenario"
)

// A choice takes its words in capitals or not, and names them to any other.
func TestChoice(t *testing.T) {
	var level string
	fl := pflag.NewFlagSet("", pflag.ContinueOnError)
	oneOf(fl, &level, "log-level", "info", "", "debug", "info")
	if err := fl.Set("log-level", "DEBUG"); err != nil || level != "debug" {
		t.Errorf("DEBUG: got %q and %v, want debug", level, err)
	}
	if err := fl.Set("log-level", "info+2"); err == nil || level != "debug" {
		t.Errorf("info+2: got %q and %v, want an error and debug as before", level, err)
	}
}

// plannersFlags are the serve flags that the planner gives, or that belong to the
// program and not to a mode.
var plannersFlags = []string{"mode", "addr", "admin", "iters", "child", "log-format", "log-level"}

// An arm may set every other flag of serve, and no flag that serve has not.
func TestArmsTakeServesFlags(t *testing.T) {
	t.Parallel()
	var f serveFlags
	fl := pflag.NewFlagSet("serve", pflag.ContinueOnError)
	f.bind(fl)
	_, unknown := scenario.ParseArm("pool,nonsense=1")
	_, list, ok := strings.Cut(unknown.Error(), "(want one of ")
	if !ok {
		t.Fatalf("got %v, want the settings listed", unknown)
	}
	known := strings.Split(strings.TrimSuffix(list, ")"), ", ")
	fl.VisitAll(func(flag *pflag.Flag) {
		_, err := scenario.ParseArm("pool," + flag.Name + "=1")
		switch {
		case slices.Contains(plannersFlags, flag.Name):
			if err == nil {
				t.Errorf("an arm may set --%s, which is the planner's", flag.Name)
			}
		case err != nil:
			t.Errorf("an arm may not set serve's --%s: %v", flag.Name, err)
		}
	})
	others := []string{"limit", "loop", "arrivals", "rate", "connections", "keepalive", "idle", "think", "session", "pipeline", "ramp", "timeout", "deadline", "retries", "backoff", "http", "tls", "cert", "key", "host", "streams", "env.NAME"}
	for _, name := range known {
		if fl.Lookup(name) == nil && !slices.Contains(others, name) {
			t.Errorf("an arm may set %s, which is no flag of serve", name)
		}
	}
}

// A mode takes the flags that mean something to it, as serve does.
func TestModesCheckTheirFlags(t *testing.T) {
	t.Parallel()
	facts := modeFacts()
	for _, c := range []struct{ arm, wrong string }{
		{"pool-perworker,steal=true,queue=p2c,locked=true", ""},
		{"pool-ring,spin=100", ""},
		{"pool,job=closure,overflow=codel,codel-target=2ms,codel-interval=50ms", ""},
		{"pool-request,executor=ring", ""},
		{"pool,queue=rr,steal=true", ""},
		{"pool,queue=ring,job=closure", ""},
		{"goroutine,locked=true", ""},
		{"loop,listeners=1", ""},
		{"loop-single,listeners=2", "--listeners"},
		{"nethttp,kv-locks=4,stamps=basic,timeline=1024,pprof=off,max-head=8KiB", ""},
		{"reuseport,listeners=2,backlog=128", ""},
		{"prefork,processes=2,threads=1", ""},
		{"semaphore,wait=5ms", ""},
		{"nethttp,steal=true", "--steal"},
		{"pool,spin=4", "--spin"},
		{"nethttp,executor=ring", "--queue"},
		{"pool,stamps=some", "--stamps"},
		{"pool-perworker,queue=p3c", "--queue"},
		{"pool,codel-target=fast", "codel-target"},
	} {
		a, err := scenario.ParseArm(c.arm)
		if err != nil {
			t.Errorf("%s: %v", c.arm, err)
			continue
		}
		if a, err = a.Renamed(); err == nil {
			err = facts[a.Mode].Check(a.Flags)
		}
		if (err == nil) != (c.wrong == "") || err != nil && !strings.Contains(err.Error(), c.wrong) {
			t.Errorf("%s: got %v, want %q", c.arm, err, c.wrong)
		}
	}
}
