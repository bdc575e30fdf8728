package record_test

import (
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/jsonschema-go/jsonschema"

	"schedlab/internal/audit"
	"schedlab/internal/explain"
	"schedlab/internal/profiling"
	"schedlab/internal/record"
	"schedlab/internal/stats"
)

var update = flag.Bool("update", false, "rewrite docs/reference/schema")

// schemaOf is the JSON Schema of what a type is written as. A fact may rest on others, so
// it is a definition of its own.
func schemaOf[T any](t *testing.T, title string) *jsonschema.Schema {
	t.Helper()
	type flat struct { // a Fact without the facts it rests on
		Code     record.Code        `json:"code"`
		Arm      string             `json:"arm,omitempty"`
		Baseline string             `json:"baseline,omitempty"`
		Metric   string             `json:"metric,omitempty"`
		Values   map[string]float64 `json:"values,omitempty"`
		Names    map[string]string  `json:"names,omitempty"`
		Text     string             `json:"text,omitempty"`
	}
	fact, err := jsonschema.For[flat](nil)
	if err != nil {
		t.Fatal(err)
	}
	ref := func() *jsonschema.Schema { return &jsonschema.Schema{Ref: "#/$defs/fact"} }
	fact.Properties["because"] = &jsonschema.Schema{Types: []string{"null", "array"}, Items: ref()}
	figures, err := jsonschema.For[map[string]float64](nil)
	if err != nil {
		t.Fatal(err)
	}
	series, err := jsonschema.For[map[string][]float64](nil)
	if err != nil {
		t.Fatal(err)
	}
	gate, err := jsonschema.For[map[string]record.Allowance](nil)
	if err != nil {
		t.Fatal(err)
	}
	s, err := jsonschema.For[T](&jsonschema.ForOptions{TypeSchemas: map[reflect.Type]*jsonschema.Schema{
		reflect.TypeFor[record.Fact]():                       ref(),
		reflect.TypeFor[stats.Figure]():                      {Type: "string"},
		reflect.TypeFor[stats.Measure]():                     {Type: "string"},
		reflect.TypeFor[map[stats.Measure]float64]():         figures,
		reflect.TypeFor[record.Span]():                       {Type: "number"},
		reflect.TypeFor[stats.Figures]():                     figures,
		reflect.TypeFor[stats.Series]():                      series,
		reflect.TypeFor[stats.Decision]():                    {Type: "string"},
		reflect.TypeFor[map[stats.Figure]record.Allowance](): gate,
		reflect.TypeFor[record.Place]():                      {Type: "string"},
		reflect.TypeFor[record.Winner]():                     {Type: "string"},
		reflect.TypeFor[map[uint16]int]():                    {Type: "object", AdditionalProperties: &jsonschema.Schema{Type: "integer"}}, // replies by status
	}})
	if err != nil {
		t.Fatal(err)
	}
	s.Schema, s.Title, s.Defs = "https://json-schema.org/draft/2020-12/schema", title, map[string]*jsonschema.Schema{"fact": fact}
	return s
}

// schemas are those of every document that is written or printed, by the name of its file.
func schemas(t *testing.T) map[string]*jsonschema.Schema {
	t.Helper()
	run := schemaOf[record.Run](t, "run.json of a record: what was planned, and what it came to")
	result := schemaOf[record.Result](t, "what 'schedlab compare', 'schedlab attack' and 'schedlab runs show' print with --output json")
	searched, err := jsonschema.For[record.SearchedArm](&jsonschema.ForOptions{TypeSchemas: map[reflect.Type]*jsonschema.Schema{reflect.TypeFor[record.Span](): {Type: "number"}}})
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range []*jsonschema.Schema{result, run.Properties["result"]} {
		// What other commands attach has a schema of its own.
		s.Properties["explained"] = &jsonschema.Schema{Type: "object", Description: "why two arms differ, as in explain.json; without schedlab explain it is left out"}
		s.Properties["profiles"] = &jsonschema.Schema{Type: "object", Description: "profiles of the arms, as in profiles.json; without --profiles it is left out"}
	}
	for _, s := range []*jsonschema.Schema{result, run.Properties["result"]} { // the arms of a search have no figures of their own
		arms := s.Properties["arms"]
		arms.Items = &jsonschema.Schema{AnyOf: []*jsonschema.Schema{arms.Items, searched}}
	}
	return map[string]*jsonschema.Schema{
		"run.json": run, "result.json": result,
		"audit.json":    schemaOf[audit.Report](t, "what 'schedlab audit' prints with --output json"),
		"progress.json": schemaOf[record.Progress](t, "a line that --progress json writes on stderr, between windows; a line that is no JSON is an error, at the end"),
		"profiles.json": schemaOf[profiling.Profiles](t, "the profiles of a run's arms, and profiles.json of a record"),
		"explain.json":  schemaOf[explain.Explanation](t, "what 'schedlab explain' prints with --output json, and why.json of a record"),
	}
}

// docs/reference/schema holds the schemas of today's types.
func TestSchemasAreKept(t *testing.T) {
	t.Parallel()
	for name, s := range schemas(t) {
		got, err := json.MarshalIndent(s, "", "  ")
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, '\n')
		path := filepath.Join("..", "..", "docs", "reference", "schema", name)
		if *update {
			if err := os.WriteFile(path, got, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		kept, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(kept), string(got)); diff != "" {
			t.Errorf("%s differs from the types (go test ./internal/record -update rewrites it; another Schema number if a reader must know):\n%s", path, diff)
		}
	}
}

// What report prints is what the schemas say.
func TestReportsKeepTheSchema(t *testing.T) {
	t.Parallel()
	all := schemas(t)
	for file, name := range map[string]string{"quick.json": "result.json", "killed.json": "result.json", "capacity.json": "result.json"} {
		keeps(t, all[name], filepath.Join("..", "report", "testdata", file))
	}
	for _, file := range []string{"because.json", "nothing.json"} {
		keeps(t, all["explain.json"], filepath.Join("..", "explain", "testdata", file))
	}
}

func keeps(t *testing.T, s *jsonschema.Schema, path string) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var document any
	if err := json.Unmarshal(text, &document); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	resolved, err := s.Resolve(nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := resolved.Validate(document); err != nil {
		t.Errorf("%s: %v", path, err)
	}
}
