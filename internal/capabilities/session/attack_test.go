package session

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"schedlab/internal/measuring/scenario"
)

// asked returns an attack by a scenario with this load, with the settings of set as the user chose them, by one name. The error is that of
// a scenario or a setting.
func asked(t *testing.T, load, given string, set func(*scenario.Load)) (Attack, error) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "many.yaml")
	if err := os.WriteFile(file, []byte("name: many\nquestion: Which serves many?\narms: [nethttp, fasthttp]\nload: {rate: 100/s, "+load+"}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	r := Attack{
		Scenarios: []string{file}, Given: []string{given}, Target: "http://127.0.0.1:1", Duration: time.Second,
		Clients: scenario.Load{Loop: "open", Connections: 64, KeepAlive: true, HTTP: "1.1", Timeout: scenario.Duration(time.Second)},
	}
	set(&r.Clients)
	err := r.check()
	if err == nil {
		_, err = r.load(1)
	}
	return r, err
}

// A scenario's streams count where the attack speaks HTTP/2 over kept connections, and --streams may go with a scenario of HTTP/2.
func TestStreamsOfAScenario(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		set  func(*scenario.Load)
		want int
	}{
		"http":      {func(l *scenario.Load) { l.HTTP = "1.1" }, 0},
		"keepalive": {func(l *scenario.Load) { l.KeepAlive = false }, 0},
		"streams":   {func(l *scenario.Load) { l.Streams = 8 }, 8},
		"timeout":   {func(*scenario.Load) {}, 4},
	} {
		r, err := asked(t, "keepalive: true, http: '2', streams: 4", name, c.set)
		if err != nil || r.Clients.Streams != c.want {
			t.Errorf("with --%s: %d streams, want %d (%v)", name, r.Clients.Streams, c.want, err)
		}
	}
}

// Where the scenario keeps no connections, no flag of the user is said to be in the way of --idle.
func TestIdleOfAScenarioThatKeepsNoConnections(t *testing.T) {
	t.Parallel()
	_, err := asked(t, "keepalive: false", "idle", func(l *scenario.Load) { l.Idle = 5 })
	if want := "--idle 5 are connections that are kept, and the scenario keeps none; add --keepalive"; err == nil || !strings.HasSuffix(err.Error(), want) {
		t.Errorf("%v, want %s", err, want)
	}
}
