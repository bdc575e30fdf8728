package main

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/google/go-cmp/cmp"
	"github.com/google/jsonschema-go/jsonschema"

	"schedlab/internal/measuring/scenario"
	"schedlab/internal/shared/record"
)

var updateSchema = flag.Bool("update", false, "rewrite docs/reference/schema/scenario.json")

// scenarioSchema returns the text of the schema of scenario files, and the schema itself.
func scenarioSchema(t *testing.T) (string, *jsonschema.Resolved) {
	t.Helper()
	var text bytes.Buffer
	if err := record.WriteJSON(&text, scenario.Schema(modeNames())); err != nil {
		t.Fatal(err)
	}
	s := new(jsonschema.Schema)
	if err := json.Unmarshal(text.Bytes(), s); err != nil {
		t.Fatal(err)
	}
	resolved, err := s.Resolve(nil)
	if err != nil {
		t.Fatal(err)
	}
	return text.String(), resolved
}

// keepsSchema validates a scenario as an editor does.
func keepsSchema(t *testing.T, s *jsonschema.Resolved, text []byte) error {
	t.Helper()
	var document any
	if err := yaml.Unmarshal(text, &document); err != nil {
		t.Fatal(err)
	}
	again, err := json.Marshal(document)
	if err == nil {
		err = json.Unmarshal(again, &document)
	}
	if err != nil {
		t.Fatal(err)
	}
	return s.Validate(document)
}

// docs/reference/schema has the schema of today's types.
func TestScenarioSchemaIsKept(t *testing.T) {
	t.Parallel()
	got, _ := scenarioSchema(t)
	file := filepath.Join("..", "..", "docs", "reference", "schema", "scenario.json")
	if *updateSchema {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	kept, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(kept), got); diff != "" {
		t.Errorf("%s differs from the types (go test ./cmd/schedlab -run ScenarioSchema -update rewrites it):\n%s", file, diff)
	}
}

// Every scenario here keeps the schema, and so does the one that the reference shows.
func TestScenariosKeepTheSchema(t *testing.T) {
	t.Parallel()
	_, s := scenarioSchema(t)
	files, err := filepath.Glob(filepath.Join("..", "..", "loadtests", "*.yaml"))
	more, _ := filepath.Glob(filepath.Join("..", "..", "loadtests", "*", "*.yaml"))
	if err != nil || len(files) < 50 || len(more) == 0 {
		t.Fatalf("%d and %d scenarios, %v", len(files), len(more), err)
	}
	for _, file := range append(files, more...) {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if err := keepsSchema(t, s, text); err != nil {
			t.Errorf("%s: %v", file, err)
		}
	}
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "reference", "scenarios.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, example, _ := strings.Cut(string(page), "```yaml\n")
	example, _, _ = strings.Cut(example, "```")
	if err := keepsSchema(t, s, []byte(example)); err != nil || example == "" {
		t.Errorf("the example of docs/reference/scenarios.md: %v", err)
	}
}

// whole has every kind of value that a scenario may have.
const whole = `
name: whole
question: Does everything have its place?
workload:
  cpu: exp(200us)
  sleep: 0.8*0s+0.2*10ms
load:
  loop: open
  arrivals: poisson
  rate: 0.7x
  min_rate: 1100/s
  keepalive: true
  connections: 64
  timeout: 1m30s
  http: 2
  host: example.org
  vary:
    connections: [16, 64]
arms:
  - nethttp
  - mode: pool
    workers: 8
    queue: shared
    env.GOGC: 200
    vary:
      queue-depth: [64, 128]
  - name: mine
    command: './server -listen {addr}'
    env:
      GOGC: 200
    metrics: /metrics
protocol:
  blocks: 12
  window: 1s
needs:
  server_cpus: 1
expect:
  - p99("nethttp,connections=16") < 20ms
claims:
  - says: 'It takes {p99("nethttp,connections=16")}'
    when: p99("nethttp,connections=16") < 20ms
`

// The program and the schema agree on what a scenario may say: both take the whole, and neither takes a key that does not
// exist, whatever it stands below, or a value of another kind.
func TestSchemaAgreesWithTheProgram(t *testing.T) {
	t.Parallel()
	_, s := scenarioSchema(t)
	for name, change := range map[string][2]string{
		"whole":                   {"", ""},
		"no question":             {"question: Does everything have its place?\n", ""},
		"unknown section":         {"name: whole\n", "name: whole\ncolour: red\n"},
		"unknown key of workload": {"  cpu: exp(200us)\n", "  cpu: exp(200us)\n  colour: red\n"},
		"unknown key of load":     {"  rate: 0.7x\n", "  rate: 0.7x\n  colour: red\n"},
		"unknown setting varied":  {"    connections: [16, 64]\n", "    connections: [16, 64]\n    colour: [1, 2]\n"},
		"unknown key of an arm":   {"    workers: 8\n", "    workers: 8\n    wrkers: 8\n"},
		"unknown flag varied":     {"      queue-depth: [64, 128]\n", "      queue-depth: [64, 128]\n      colour: [1, 2]\n"},
		"unknown key of protocol": {"  blocks: 12\n", "  blocks: 12\n  trials: 12\n"},
		"unknown need":            {"  server_cpus: 1\n", "  server_cpus: 1\n  cpus: 1\n"},
		"unknown key of a claim":  {"    when: p99", "    colour: red\n    when: p99"},
		"rate without a unit":     {"rate: 0.7x", "rate: 3000"},
		"time without a unit":     {"window: 1s", "window: 1"},
		"number that is none":     {"connections: 64", "connections: many"},
		"number below 1":          {"blocks: 12", "blocks: 0"},
		"neither true nor false":  {"keepalive: true", "keepalive: 1"},
		"values that are no list": {"connections: [16, 64]", "connections: 16"},
		"no values":               {"connections: [16, 64]", "connections: []"},
		"a list for a value":      {"name: whole", "name: [whole]"},
		"an arm that is a list":   {"  - nethttp\n", "  - [nethttp]\n"},
		"a section without keys":  {"needs:\n  server_cpus: 1\n", "needs: 1\n"},
	} {
		text := strings.Replace(whole, change[0], change[1], 1)
		if change[0] != "" && text == whole {
			t.Fatalf("%s: %q is not in the scenario", name, change[0])
		}
		_, program := scenario.Parse("f.yaml", []byte(text))
		editor := keepsSchema(t, s, []byte(text))
		if fine := name == "whole"; (program == nil) != fine || (editor == nil) != fine {
			t.Errorf("%s: the program says %v, and the schema %v", name, program, editor)
		}
	}
}

// Every key has a sentence that an editor can show.
func TestSchemaHasDescriptions(t *testing.T) {
	t.Parallel()
	text, _ := scenarioSchema(t)
	var document any
	if err := json.Unmarshal([]byte(text), &document); err != nil {
		t.Fatal(err)
	}
	keys := 0
	var walk func(path string, v any)
	walk = func(path string, v any) {
		switch v := v.(type) {
		case map[string]any:
			properties, _ := v["properties"].(map[string]any)
			for key, p := range properties {
				keys++
				if what, _ := p.(map[string]any)["description"].(string); what == "" {
					t.Errorf("%s.%s has no description", path, key)
				}
			}
			for key, inner := range v {
				walk(path+"."+key, inner)
			}
		case []any:
			for _, inner := range v {
				walk(path, inner)
			}
		}
	}
	walk("", document)
	if keys < 100 {
		t.Errorf("found %d keys only", keys)
	}
}
