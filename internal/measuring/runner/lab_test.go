package runner

import (
	"errors"
	"fmt"
	"math"
	"runtime"
	"runtime/debug"
	"testing"

	"schedlab/internal/measuring/host"
	"schedlab/internal/measuring/scenario"
	"schedlab/internal/shared/cpuset"
)

// everyCPU lists the CPUs this process may use.
func everyCPU(t *testing.T) cpuset.Set {
	t.Helper()
	all, err := host.Affinity()
	if err != nil && !errors.Is(err, host.ErrNoAffinity) {
		t.Fatal(err)
	}
	return all
}

func TestParseCPUs(t *testing.T) {
	t.Parallel()
	all := cpuset.Set{0, 1, 2, 3, 4, 5, 8, 9, 1023}
	if got, err := parseCPUs("8-9,1023,0/1", "8-9,1023,0", all); err != nil || got.String() != "0,8-9,1023" {
		t.Errorf("got %v, %v", got, err)
	}
	for list, want := range map[string]string{
		"x":   `--cpus 0/x: "x" is not a list of CPUs like 0-3,5; give the servers' CPUs, a slash and the load's, like 0-1/2-3, or none`,
		"0-7": `--cpus 0/0-7: CPU 6 is not one this process may use (0-5,8-9,1023)`,
	} {
		_, err := parseCPUs("0/"+list, list, all)
		var bad *Impossible
		if !errors.As(err, &bad) || err.Error() != want {
			t.Errorf("%q: got %v, want %s", list, err, want)
		}
	}
}

func TestChooseCPUs(t *testing.T) {
	t.Parallel()
	all := everyCPU(t)
	if len(all) < 2 {
		t.Skip("NOT RUN: one CPU cannot be split")
	}
	half := len(all) / 2
	low, high, one := all[:half].String(), all[half:].String(), fmt.Sprint(all[0])
	last := fmt.Sprint(all[len(all)-1])
	for _, c := range []struct {
		o            Options
		needs        int // CPUs of the server
		server, load string
		pin, shared  bool
	}{
		{Options{}, 0, low, high, true, false},
		{Options{}, 1, low, high, true, false},
		{Options{CPUs: low + "/" + high}, 0, low, high, true, false},
		{Options{CPUs: FreeCPUs}, 0, all.String(), all.String(), false, true},
		{Options{CPUs: one + "/"}, 0, one, all[1:].String(), true, false},
		{Options{CPUs: "/" + one}, 0, all[1:].String(), one, true, false},
		{Options{CPUs: one + "/" + one}, 0, one, one, true, true},
		// Where nothing is left for the load, it shares one CPU of the server's.
		{Options{CPUs: all.String()}, 0, all.String(), last, true, true},
		{Options{}, len(all), all.String(), last, true, true},
		{Options{}, len(all) - 1, all[:max(half, len(all)-1)].String(), all[max(half, len(all)-1):].String(), true, false},
		// What a machine lacks it cannot give, and what is told is kept.
		{Options{}, len(all) + 1, all.String(), last, true, true},
		{Options{CPUs: one}, 2, one, all[1:].String(), true, false},
	} {
		got, err := chooseCPUs(c.o, scenario.Needs{ServerCPUs: c.needs})
		if err != nil || got.Server.String() != c.server || got.Load.String() != c.load || got.Pin != c.pin || got.Shared != c.shared {
			t.Errorf("%+v: got server %s, load %s, pin %v, shared %v, %v", c.o, got.Server, got.Load, got.Pin, got.Shared, err)
		}
	}
	for _, c := range []struct {
		o    Options
		want string
	}{
		{Options{CPUs: "/"}, "--cpus / names no CPU; " + cpusForm},
		{Options{CPUs: "zero"}, `--cpus zero: "zero" is not a list of CPUs like 0-3,5; ` + cpusForm},
		{Options{CPUs: "0/0/0"}, `--cpus 0/0/0: "0/0" is not a list of CPUs like 0-3,5; ` + cpusForm},
	} {
		_, err := chooseCPUs(c.o, scenario.Needs{})
		var bad *Impossible
		if !errors.As(err, &bad) || err.Error() != c.want {
			t.Errorf("%+v: got %v, want %s", c.o, err, c.want)
		}
	}
}

// The collector is off in a window, but not whatever it costs: past a limit it runs.
// Afterwards all is as it was.
func TestQuietCollector(t *testing.T) {
	percent, limit := debug.SetGCPercent(80), debug.SetMemoryLimit(math.MaxInt64)
	defer func() {
		debug.SetGCPercent(percent)
		debug.SetMemoryLimit(limit)
	}()
	undo := pauseGC(quietRoom)
	var now runtime.MemStats
	runtime.ReadMemStats(&now)
	room := debug.SetMemoryLimit(-1) - int64(now.Sys-now.HeapReleased)
	if off := debug.SetGCPercent(-1); off != -1 || room > quietRoom || room < quietRoom/2 {
		t.Errorf("in the window the collector is at %d %%, with room for %d bytes; want it off, with about %d", off, room, quietRoom)
	}
	undo()
	if on, after := debug.SetGCPercent(80), debug.SetMemoryLimit(-1); on != 80 || after != math.MaxInt64 {
		t.Errorf("afterwards %d %% and a limit of %d, want 80 and none", on, after)
	}
	debug.SetMemoryLimit(1 << 29) // the user's own
	undo = pauseGC(quietRoom)
	if got := debug.SetMemoryLimit(-1); got > 1<<29 {
		t.Errorf("the limit is raised to %d, want the user's", got)
	}
	undo()
}
