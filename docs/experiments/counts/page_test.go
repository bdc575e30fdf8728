package main

import (
	"strings"
	"testing"
)

func TestMemoryTable(t *testing.T) {
	t.Parallel()
	cell := func(server string, streams int, state string, kib ...float64) memoryCell {
		c := memoryCell{Server: server, Protocol: overHTTP2, State: state, Streams: streams}
		for _, v := range kib {
			c.Taken = append(c.Taken, memory{Resident: v * 1024, Heap: 512, Stack: 256})
		}
		return c
	}
	r := memoryRecord{Cells: []memoryCell{
		cell("a", 1, "idle", 10, 12), cell("a", 1, "waiting", 200, 200), cell("a", 100, "waiting", 4, 4), cell("b", 1, "idle", .2, .6),
	}}
	got := r.markdown()
	for _, want := range []string{
		"Means of 2 rounds, which differ by at most 20 %, or 0.4 KiB where less than 1 KiB is in use.",
		"| a | HTTP/2, TLS | 11.0 (0.8) | - | - | 200 (0.8) |\n| a | HTTP/2, TLS, 100 streams each | - | - | - | 4.0 (0.8) |\n| b | HTTP/2, TLS | 0.4 (0.8) | - | - | - |\n",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
}

// A stop counts once for each method, whatever it lost, and kept connections are told from new ones.
func TestStopsTable(t *testing.T) {
	t.Parallel()
	of := func(method string, kept, fresh int) sent {
		return sent{method: method, answered: 5, kept: map[string]int{"reset": kept}, fresh: map[string]int{"closed": fresh}}
	}
	c := stopsCell{Server: "a", Way: exitAtOnce, Client: rawClient, Seeds: []stops{{Seed: 1}, {Seed: 2}}}
	c.Seeds[0].add([]sent{of("GET", 2, 0), of("GET", 1, 0), of("POST", 0, 1)})
	c.Seeds[1].add([]sent{of("GET", 0, 0), of("POST", 0, 0)})
	got := stopsRecord{Cells: []stopsCell{c}}.markdown()
	if want := " differ by 1 stop at most.\n"; !strings.Contains(got, want) {
		t.Errorf("got %q, want it to have %q", got, want)
	}
	if want := "| a | exit | 1 (1.3–98.7) | 0 (0–84) | 3 | 0, 1 |\n"; !strings.HasSuffix(got, want) {
		t.Errorf("got %q, want it to end in %q", got, want)
	}
	if total := c.total(); total.GET.Answered != 15 || total.Stops != 2 {
		t.Errorf("got %+v, want 15 GETs answered in 2 stops", total)
	}
}
