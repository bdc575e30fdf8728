package cluster

import (
	"strings"
	"testing"

	"schedlab/internal/measuring/load"
	"schedlab/internal/measuring/runner"
	"schedlab/internal/measuring/scenario"
	"schedlab/internal/shared/mode"
)

// What cannot be planned on a cluster is told with the flags of cluster run.
func TestPlansNameTheFlagsOfACluster(t *testing.T) {
	for _, c := range []struct {
		more, engine, want string
	}{
		{"arms: [nethttp, fasthttp]\n", load.EngineVegeta,
			"--engine vegeta: the shards of a cluster begin at one agreed moment, which only the engine spin can; leave it out"},
		{"arms: [nethttp, fasthttp]\nneeds: {server_cpus: 2}\n", "", "and has 1 here: the models would not differ in what it asks; give --server-cpu 2"},
		{"arms: [nethttp, {name: mine, command: './server -listen {addr}'}]\n", "",
			`arm "mine": ./server is a program, and a cluster runs images: give the arm as 'image:REGISTRY/NAME@sha256:... -listen {addr}'`},
	} {
		s, err := scenario.Parse("demo", []byte("name: demo\nquestion: Which?\nload: {rate: 100/s}\n"+c.more))
		if err != nil {
			t.Fatal(err)
		}
		_, err = runner.Plan(s, runner.Options{Self: "/schedlab", Engine: c.engine, Iters: 1, Site: &Site{Settings: Settings{ServerCPU: 1}},
			Modes: map[string]mode.Mode{"nethttp": {}, "fasthttp": {}}})
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("got %v\nwant %s", err, c.want)
		}
	}
}
