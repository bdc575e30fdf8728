package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
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

// A Pod without a place names the flags that ask for one.
func TestPodWithoutAPlace(t *testing.T) {
	var p pod
	if got := p.place("--server-cpu 2", "--server-nodes", nil); got != "" {
		t.Errorf("a Pod that nobody refused: %q", got)
	}
	if err := json.Unmarshal([]byte(`{"conditions":[{"type":"PodScheduled","status":"False","reason":"Unschedulable","message":"0/2 nodes"}]}`), &p.Status); err != nil {
		t.Fatal(err)
	}
	for want, labels := range map[string]map[string]string{
		" (it asks for --server-cpu 2, on any node)":                            nil,
		" (it asks for --server-cpu 2, and --server-nodes pool=servers,zone=a)": {"zone": "a", "pool": "servers"},
	} {
		if got := p.place("--server-cpu 2", "--server-nodes", labels); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// A shard that refuses is told in its own words, and a kubectl that ends without a word by how it ended.
func TestRefusalsKeepTheirWords(t *testing.T) {
	site := shardsFor(t, 1)
	shard := site.shards[0]
	shard.token = "of another run"
	const want = "GET /clock is answered 403 Forbidden: this shard belongs to another run: wrong token"
	if err := shard.setClock(t.Context(), http.DefaultClient); err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
	if err := (Kubectl{}).failed(context.Background(), "exec", errors.New("signal: killed"), ""); err == nil || err.Error() != "kubectl exec: signal: killed" {
		t.Errorf("got %v", err)
	}
}
