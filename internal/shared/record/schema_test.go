package record_test

import (
	"archive/tar"
	"bytes"
	"compress/bzip2"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/google/jsonschema-go/jsonschema"

	"schedlab/internal/capabilities/audit"
	"schedlab/internal/capabilities/capacity"
	"schedlab/internal/capabilities/explain"
	"schedlab/internal/capabilities/profiling"
	"schedlab/internal/capabilities/race"
	"schedlab/internal/capabilities/session"
	"schedlab/internal/shared/fact"
	"schedlab/internal/shared/queueing"
	"schedlab/internal/shared/record"
	"schedlab/internal/shared/stats"
)

var update = flag.Bool("update", false, "rewrite docs/reference/schema")

// written are the schemas of types that write themselves, and of those with a file of their own.
func written() map[reflect.Type]*jsonschema.Schema {
	text := &jsonschema.Schema{Type: "string"}
	number := &jsonschema.Schema{Type: "number"}
	return map[reflect.Type]*jsonschema.Schema{
		reflect.TypeFor[time.Time]():         text,
		reflect.TypeFor[stats.Figure]():      text,
		reflect.TypeFor[stats.Measure]():     text,
		reflect.TypeFor[stats.Decision]():    text,
		reflect.TypeFor[record.Place]():      text,
		reflect.TypeFor[record.Winner]():     text,
		reflect.TypeFor[record.Speaks]():     text,
		reflect.TypeFor[record.Span]():       number,
		reflect.TypeFor[queueing.Span]():     number,
		reflect.TypeFor[stats.Figures]():     {Type: "object", AdditionalProperties: number},
		reflect.TypeFor[stats.Series]():      {Type: "object", AdditionalProperties: &jsonschema.Schema{Types: []string{"null", "array"}, Items: number}},
		reflect.TypeFor[record.Comparison](): {Ref: "result.json"},
		reflect.TypeFor[capacity.Search]():   {Ref: "capacity.json"},
		reflect.TypeFor[race.Race]():         {Ref: "race.json"},
		reflect.TypeFor[record.Result]():     {AnyOf: []*jsonschema.Schema{{Ref: "result.json"}, {Ref: "capacity.json"}, {Ref: "race.json"}}},
		reflect.TypeFor[record.Env]():        {Ref: "env.json"},
		reflect.TypeFor[record.Class]():      text,
	}
}

// factShape has the fields that a Fact is written as.
type factShape struct {
	Code     fact.Code          `json:"code"`
	Arm      string             `json:"arm,omitempty"`
	Baseline string             `json:"baseline,omitempty"`
	Metric   string             `json:"metric,omitempty"`
	Values   map[string]float64 `json:"values,omitempty"`
	Names    map[string]string  `json:"names,omitempty"`
	Because  []fact.Fact        `json:"because,omitempty"`
	Text     string             `json:"text,omitempty"`
}

// shape is the struct type with the fields that t is written as.
func shape(t reflect.Type) reflect.Type {
	if t == reflect.TypeFor[fact.Fact]() {
		return reflect.TypeFor[factShape]()
	}
	return t
}

// definition is the name of a struct type among the definitions of a schema.
func definition(t reflect.Type) string { return strings.ToUpper(t.Name()[:1]) + t.Name()[1:] }

func ref(t reflect.Type) *jsonschema.Schema {
	return &jsonschema.Schema{Ref: "#/$defs/" + definition(t)}
}

// schemaOf is the JSON Schema of what a type is written as. Each struct type below it is one definition, which all its uses
// refer to.
func schemaOf[T any](t *testing.T, title string) *jsonschema.Schema {
	t.Helper()
	known, root := written(), reflect.TypeFor[T]()
	delete(known, root)
	schema := func(of reflect.Type, known map[reflect.Type]*jsonschema.Schema) *jsonschema.Schema {
		s, err := jsonschema.ForType(of, &jsonschema.ForOptions{TypeSchemas: known})
		if err != nil {
			t.Fatal(err)
		}
		orNull(s)
		return s
	}
	var structs []reflect.Type
	var find func(of reflect.Type)
	find = func(of reflect.Type) {
		if known[of] != nil {
			return
		}
		switch of.Kind() {
		case reflect.Pointer, reflect.Slice, reflect.Array:
			find(of.Elem())
		case reflect.Map:
			find(of.Elem())
			if of.Key().Kind() != reflect.String { // it is written as text
				known[of] = &jsonschema.Schema{Type: "object", AdditionalProperties: schema(of.Elem(), known)}
			}
		case reflect.Struct:
			known[of], structs = ref(of), append(structs, of)
			for _, f := range reflect.VisibleFields(shape(of)) {
				if f.IsExported() && !f.Anonymous && f.Tag.Get("json") != "-" {
					find(f.Type)
				}
			}
		}
	}
	find(root)
	defs := map[string]*jsonschema.Schema{}
	for _, of := range structs {
		others := maps.Clone(known)
		delete(others, of)
		if shape(of) != of {
			others[of] = ref(of)
		}
		for _, f := range reflect.VisibleFields(shape(of)) {
			if f.Anonymous {
				delete(others, f.Type) // its fields are of's own
			}
		}
		if defs[definition(of)] != nil {
			t.Fatalf("two types are called %s", definition(of))
		}
		defs[definition(of)] = schema(shape(of), others)
	}
	s := defs[definition(root)]
	delete(defs, definition(root))
	s.Schema, s.Title, s.Defs = "https://json-schema.org/draft/2020-12/schema", title, defs
	return s
}

// orNull lets a pointer to a definition be null: For writes a type beside the reference, and both would have to hold.
func orNull(s *jsonschema.Schema) {
	if s == nil {
		return
	}
	if s.Ref != "" && s.Types != nil {
		s.AnyOf = []*jsonschema.Schema{{Type: "null"}, {Ref: s.Ref}}
		s.Ref, s.Types = "", nil
	}
	orNull(s.Items)
	orNull(s.AdditionalProperties)
	for _, p := range s.Properties {
		orNull(p)
	}
}

// schemas are those of every document that is written or printed, by the name of its file.
func schemas(t *testing.T) map[string]*jsonschema.Schema {
	t.Helper()
	result := schemaOf[record.Comparison](t, "what 'schedlab compare', 'gate', 'attack' and 'runs show' print with --output json")
	// What other commands attach has a schema of its own.
	result.Properties["explained"] = &jsonschema.Schema{Type: "object", Description: "why two arms differ, as in explain.json; without schedlab explain it is left out"}
	result.Properties["profiles"] = &jsonschema.Schema{Type: "object", Description: "profiles of the arms, as in profiles.json; without --profiles it is left out"}
	return map[string]*jsonschema.Schema{
		"run.json":      schemaOf[record.Run](t, "run.json of a record: what was planned, and what it came to"),
		"result.json":   result,
		"capacity.json": schemaOf[capacity.Search](t, "what 'schedlab capacity' prints with --output json"),
		"race.json":     schemaOf[race.Race](t, "what 'schedlab compare --arms all' prints with --output json"),
		"env.json":      schemaOf[record.Env](t, "the machine and the programs that a run's figures depend on, in a run and in its result"),
		"audit.json":    schemaOf[audit.Report](t, "what 'schedlab audit' prints with --output json"),
		"progress.json": schemaOf[session.Progress](t, "a line that --progress json writes on stderr, between windows; a line that is no JSON is an error, at the end"),
		"profiles.json": schemaOf[profiling.Profiles](t, "the profiles of a run's arms, and profiles.json of a record"),
		"explain.json":  schemaOf[explain.Explanation](t, "what 'schedlab explain' prints with --output json, and why.json of a record"),
	}
}

// open lets every object have more properties than it has today: a later schedlab may add some under the same number. The
// tests here hold what is written to the schemas as they are before that, so that no property is missing in them.
func open(s *jsonschema.Schema) {
	if s == nil {
		return
	}
	// Of an object that is a map it is the schema of the values.
	if closed := s.AdditionalProperties; closed != nil && closed.Not != nil {
		s.AdditionalProperties = nil
	}
	open(s.AdditionalProperties)
	open(s.Items)
	for _, inner := range s.AnyOf {
		open(inner)
	}
	for _, all := range []map[string]*jsonschema.Schema{s.Properties, s.Defs} {
		for _, inner := range all {
			open(inner)
		}
	}
}

// Whoever validates by the published schemas can read a later schedlab: every object may have new fields.
func TestPublishedSchemasAreOpen(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob(filepath.Join("..", "..", "..", "docs", "reference", "schema", "*.json"))
	if err != nil || len(files) < 8 {
		t.Fatalf("%d schemas, %v", len(files), err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		// Users write scenarios: there a key that does not exist is a mistake.
		if open := !bytes.Contains(text, []byte(`"additionalProperties": false`)); open != (filepath.Base(file) != "scenario.json") {
			t.Errorf("%s: new fields are allowed: %v", file, open)
		}
	}
	all := schemas(t)
	extended := func(text string) []byte {
		return []byte(strings.Replace(strings.Replace(text, "{", `{"new_field": [1],`, 1), `"arms": [`+"\n    {", `"arms": [{"new_field": {},`, 1))
	}
	text, err := os.ReadFile(filepath.Join("..", "..", "measuring", "report", "testdata", "quick.json"))
	if err != nil {
		t.Fatal(err)
	}
	if valid(t, all, "result.json", extended(string(text))) == nil {
		t.Error("today's types allow a field that they do not have")
	}
	for _, s := range all {
		open(s)
	}
	if err := valid(t, all, "result.json", extended(string(text))); err != nil {
		t.Errorf("a result with new fields: %v", err)
	}
}

// docs/reference/schema holds the schemas of today's types.
func TestSchemasAreKept(t *testing.T) {
	t.Parallel()
	for name, s := range schemas(t) {
		open(s)
		got, err := json.MarshalIndent(s, "", "  ")
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, '\n')
		path := filepath.Join("..", "..", "..", "docs", "reference", "schema", name)
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
			t.Errorf("%s differs from the types (go test ./internal/shared/record -update rewrites it; another Schema number if a reader must know):\n%s", path, diff)
		}
	}
}

// A result and a run have few properties, so that a reader can know them.
func TestSchemasHaveFewProperties(t *testing.T) {
	t.Parallel()
	all := schemas(t)
	for name, most := range map[string]int{"result.json": 300, "run.json": 126} {
		text, err := json.Marshal(all[name])
		if err != nil {
			t.Fatal(err)
		}
		var document any
		if err := json.Unmarshal(text, &document); err != nil {
			t.Fatal(err)
		}
		n := properties(document)
		t.Logf("%s: %d properties", name, n)
		if n > most {
			t.Errorf("%s has %d properties, more than %d", name, n, most)
		}
	}
}

// properties counts the entries of all objects called properties.
func properties(document any) (n int) {
	switch v := document.(type) {
	case map[string]any:
		for key, value := range v {
			if entries, ok := value.(map[string]any); ok && key == "properties" {
				n += len(entries)
			}
			n += properties(value)
		}
	case []any:
		for _, value := range v {
			n += properties(value)
		}
	}
	return n
}

// What report prints is what the schemas say.
func TestReportsKeepTheSchema(t *testing.T) {
	t.Parallel()
	all := schemas(t)
	for _, file := range []string{"quick.json", "killed.json"} {
		keepsFile(t, all, "result.json", filepath.Join("..", "..", "measuring", "report", "testdata", file))
	}
	keepsFile(t, all, "capacity.json", filepath.Join("..", "..", "capabilities", "capacity", "testdata", "capacity.json"))
	for _, file := range []string{"because.json", "nothing.json"} {
		keepsFile(t, all, "explain.json", filepath.Join("..", "..", "capabilities", "explain", "testdata", file))
	}
}

// What a record's run.json has is what the schema says, with its result: runs of every kind, written again.
func TestRunsKeepTheSchema(t *testing.T) {
	t.Parallel()
	archives, err := filepath.Glob(filepath.Join("..", "..", "frozen", "testdata", "*.tar.bz2"))
	if err != nil || len(archives) == 0 {
		t.Fatalf("no records (%v)", err)
	}
	all, results, searches := schemas(t), 0, 0
	for _, archive := range archives {
		for _, text := range runsIn(t, archive) {
			var run record.Run
			if err := json.Unmarshal(text, &run); err != nil {
				t.Fatalf("%s: %v", archive, err)
			}
			again, err := json.Marshal(run)
			if err != nil {
				t.Fatal(err)
			}
			keeps(t, all, "run.json", archive, again)
			var back record.Run
			if err := json.Unmarshal(again, &back); err != nil {
				t.Fatalf("%s, written again: %v", archive, err)
			}
			if diff := cmp.Diff(run, back, cmp.AllowUnexported(fact.Fact{}), cmpopts.IgnoreFields(fact.Fact{}, "Text")); diff != "" {
				t.Errorf("%s, written and read again: %s", archive, diff)
			}
			if run.Result == nil {
				continue
			}
			results++
			needs := "verdicts"
			if _, is := run.Result.(*capacity.Search); is {
				searches++
				needs = "slo"
			}
			broken := bytes.Replace(again, []byte(`"`+needs+`":`), []byte(`"other":`), 1)
			if valid(t, all, "run.json", broken) == nil {
				t.Errorf("%s: a result without %s keeps the schema", archive, needs)
			}
		}
	}
	if results == 0 || searches == 0 {
		t.Errorf("%d runs with a result, %d of them searches: want some of each", results, searches)
	}
}

// Results of schema 1 are read: a comparison has its arms' figures, and each arm of a search its own load and capacity,
// which stood in two lists then. The copy is that of the baseline, which only its role tells there.
func TestSchema1IsRead(t *testing.T) {
	t.Parallel()
	read := func(archive string) (run record.Run) {
		text := runsIn(t, filepath.Join("..", "..", "frozen", "testdata", archive+".tar.bz2"))[0]
		if err := json.Unmarshal(text, &run); err != nil || run.Schema != 1 || run.Result.Head().Schema != record.Schema || run.Result.Head().Run != run.Name {
			t.Fatalf("%s: %v: a run of schema %d, its result %+v", archive, err, run.Schema, run.Result.Head())
		}
		return run
	}
	run := read("compare")
	c := run.Comparison()
	if c == nil || c.Kind != record.Compared || c.Window != run.Plan.Window || len(c.Arms) != len(run.Plan.Arms) || len(c.Verdicts) == 0 {
		t.Fatalf("got %+v", run.Result)
	}
	for i, a := range c.Arms {
		if p := run.Plan.Arms[i]; a.Name != p.Name || a.Clients != p.Clients || a.P50 == nil || a.Curve == nil || len(a.Blocks[stats.P50]) != c.Valid || (p.CopyOf == c.Arms[0].Name) != a.IsCopy() || a.CopyOf != p.CopyOf {
			t.Errorf("got %+v for the arm %+v", a, p)
		}
	}
	run = read("capacity")
	s, is := run.Result.(*capacity.Search)
	if !is || s.Kind != capacity.Kind || s.SLO != run.Plan.SLO || s.Budget != run.Plan.Budget || s.Window != run.Plan.Window || len(s.Terms) == 0 || len(s.Arms) != len(run.Plan.Arms) {
		t.Fatalf("got %+v", run.Result)
	}
	for i, a := range s.Arms {
		if p := run.Plan.Arms[i]; a.Name != p.Name || a.Clients != p.Clients || a.Command == "" || a.Role != p.Role || len(a.Windows) == 0 || a.Fact.None() || a.XMax != run.XMax[a.Name] {
			t.Errorf("got %+v for the arm %+v", a, p)
		}
	}
}

// runsIn returns each run.json of an archive of records.
func runsIn(t *testing.T, archive string) (texts [][]byte) {
	t.Helper()
	f, err := os.Open(archive)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for r := tar.NewReader(bzip2.NewReader(f)); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return texts
		}
		if err != nil {
			t.Fatalf("%s: %v", archive, err)
		}
		if path.Base(h.Name) == "run.json" {
			text, err := io.ReadAll(r)
			if err != nil {
				t.Fatalf("%s: %v", archive, err)
			}
			texts = append(texts, text)
		}
	}
}

func keepsFile(t *testing.T, all map[string]*jsonschema.Schema, schema, path string) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	keeps(t, all, schema, path, text)
}

func keeps(t *testing.T, all map[string]*jsonschema.Schema, schema, what string, text []byte) {
	t.Helper()
	if err := valid(t, all, schema, text); err != nil {
		t.Errorf("%s: %v", what, err)
	}
}

// valid reports how a document breaks one of all schemas; nil if it does not.
func valid(t *testing.T, all map[string]*jsonschema.Schema, schema string, text []byte) error {
	t.Helper()
	var document any
	if err := json.Unmarshal(text, &document); err != nil {
		return err
	}
	resolved, err := all[schema].Resolve(&jsonschema.ResolveOptions{
		BaseURI: "file:///" + schema,
		Loader: func(file *url.URL) (*jsonschema.Schema, error) {
			if s := all[path.Base(file.Path)]; s != nil {
				return s, nil
			}
			return nil, fmt.Errorf("no schema %s", file)
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	return resolved.Validate(document)
}
