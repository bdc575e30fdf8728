package fact_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"schedlab/internal/shared/fact"
	"schedlab/internal/shared/stats"
)

// lost are the values of a kind of fact that only these tests know.
type lost struct {
	Requests int
	Share    float64
	Late     bool
	Lag      time.Duration `json:"lag,omitempty"`
	XMax     float64       `json:"x_max,omitempty"`
	Where    string
	Open     int
	OpenArms string `json:"open,omitempty"` // among the names the key is free
	Least    stats.Opt
	*Sent
}

// Sent is of a lost request that was sent at all.
type Sent struct {
	Bytes int
	From  string
}

var lostOf = fact.New[lost]("test-lost", 0, `{{.Arm}} lost {{count .Requests}} of {{.Where}} ({{percent .Share}}){{if .Late}}, late{{end}}{{with .Lag}}, by {{time .}}{{end}}{{with .XMax}}, of {{per .}}{{end}}{{range .Because}}; {{say .}}{{end}}{{with .OpenArms}}; open: {{.}} ({{$.Open}}){{end}}{{with .Least}}, {{count .}} at least{{end}}`,
	fact.Also("fix", `find {{.Where}}`))

var alone = fact.Plain("test-alone", 0, `alone`)

// The values of a fact are a struct in Go and two objects in JSON: strings are names, the rest are values, a duration in
// seconds.
func TestKind(t *testing.T) {
	t.Parallel()
	in := lost{Requests: 3, Share: .5, Where: "it", Lag: 1500 * time.Microsecond, Open: 2, OpenArms: "a, b"}
	f := lostOf.Of(in).On("pool").Since(alone)
	const words = "pool lost 3 of it (50 %), by 1.5ms; alone; open: a, b (2)"
	if f.String() != words || f.Part("fix") != "find it" || !f.Has("fix") || f.Has("do") {
		t.Errorf("got %q and %q", f, f.Part("fix"))
	}
	text, err := json.Marshal(f)
	if want := `{"code":"test-lost","arm":"pool","values":{"lag":0.0015,"late":0,"open":2,"requests":3,"share":0.5},"names":{"open":"a, b","where":"it"},"because":[{"code":"test-alone","text":"alone"}],"text":"` + words + `"}`; err != nil || string(text) != want {
		t.Errorf("got  %s, %v\nwant %s", text, err, want)
	}
	var back fact.Fact
	if err := json.Unmarshal(text, &back); err != nil {
		t.Fatal(err)
	}
	if got, is := fact.In(lostOf, back); !is || got.Sent != nil || got != in || back.String() != words {
		t.Errorf("got %+v, %t: %s", got, is, back)
	}
	if got, is := fact.In(lostOf, alone); is || got != (lost{}) || lostOf.Code.Is(alone) || !back.RestsOn(alone.Code) {
		t.Errorf("got %+v, %t of another kind", got, is)
	}
}

// Values that belong together may be there or not, and may be zero if they are; others may be known later than the rest.
func TestSomeValuesOfAKind(t *testing.T) {
	t.Parallel()
	f := lostOf.Of(lost{Least: stats.Known(0), Sent: &Sent{From: "a"}}).And(struct {
		Where string
		XMax  float64 `json:"x_max"`
	}{"there", 7})
	text, err := json.Marshal(f)
	if want := `{"code":"test-lost","values":{"bytes":0,"late":0,"least":0,"open":0,"requests":0,"share":0,"x_max":7},"names":{"from":"a","where":"there"},"text":" lost 0 of there (0 %), of 7/s"}`; err != nil || string(text) != want {
		t.Errorf("got  %s, %v\nwant %s", text, err, want)
	}
	if got, is := fact.In(lostOf, f); !is || *got.Sent != (Sent{From: "a"}) || got.Least != stats.Known(0) || got.Where != "there" {
		t.Errorf("got %+v, %t", got, is)
	}
	defer func() {
		if text := asText(recover()); !strings.Contains(text, "has no Wher") {
			t.Errorf("got %q", text)
		}
	}()
	f.And(struct{ Wher string }{})
}

// A kind of a table has values by name, and its sentences are checked as those of any other.
func TestKindOfATable(t *testing.T) { // registers kinds, so no other test may run
	text := map[string]string{"": `{{count .InFlight}} of {{.Tool}}{{with .Least}}, {{count .}} at least{{end}}`, "do": `not {{.Tool}}`}
	fact.Named("test-table", text, []string{"in_flight", "least"}, []string{"tool"})
	f := fact.Told("test-table", map[string]float64{"in_flight": 3}, map[string]string{"tool": "ab"})
	if f.String() != "3 of ab" || f.Part("do") != "not ab" {
		t.Errorf("got %q, %q", f, f.Part("do"))
	}
	defer func() {
		if text := asText(recover()); !strings.Contains(text, "no .Least") {
			t.Errorf("got %q", text)
		}
	}()
	fact.Named("test of a table without", text, []string{"in_flight"}, []string{"tool"})
}

// A record of another version may lack a value, have one more, or have a kind that this program does not know. It is
// written as it was read.
func TestFactsOfOtherVersions(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`{"code":"test-lost","values":{"requests":4,"whatever":9},"text":" lost 4 of  (0 %)"}`:         " lost 4 of  (0 %)",
		`{"code":"test-unheard","values":{"n":1},"names":{"a":"b"},"text":"words of a newer version"}`: "words of a newer version",
	} {
		var f fact.Fact
		if err := json.Unmarshal([]byte(text), &f); err != nil || f.String() != want {
			t.Errorf("%s: got %q, %v", text, f, err)
		}
		if again, err := json.Marshal(f); err != nil || string(again) != text {
			t.Errorf("got %s, %v, want %s", again, err, text)
		}
	}
}

// A sentence that names what its values lack stops every program that has it, and so every test: also in a branch that is
// never taken, and in a part that it uses.
func TestSentencesAreChecked(t *testing.T) { // registers kinds, so no other test may run
	_ = fact.Part("test-part", `{{.Where}}{{if .Late}}{{.Wher}}{{end}}`)
	for text, says := range map[string]string{
		`{{count .Request}}`:                               ".Request ",
		`{{if .Late}}{{.Reason}}{{end}}`:                   ".Reason ",
		`{{with .Where}}{{$.Reasons}}{{end}}`:              ".Reasons ",
		`{{range .Because}}{{.Where}}{{end}}`:              ".Where ",
		`{{range $i, $f := .Because}}{{$f.Is}}{{end}}`:     ".Is ",
		`{{template "test-part" .}}`:                       ".Wher ",
		`{{template "test-nothing" .}}`:                    `"test-nothing"`,
		`{{if .Late}}{{count .Where}}{{end}}`:              "takes a number",
		`{{if .Late}}{{metric .Share}}{{end}}`:             "takes string",
		`{{if .Late}}{{plural .Requests}}{{end}}`:          "2 arguments",
		`{{if eq .Share 1}}{{end}}`:                        "compares",
		`{{if .Late}}{{if lt .Open .Share}}{{end}}{{end}}`: "compares",
		`{{range .Where}}{{end}}`:                          "no list",
		`{{index .Because 0}}`:                             "without values",
		`{{len .Because}}`:                                 "do not use len",
		`{{.Where.More}}`:                                  "has no .More",
		`{{nothing .Where}}`:                               "nothing",
		`{{if}}`:                                           "",
	} {
		func() {
			defer func() {
				if got := recover(); got == nil || !strings.Contains(asText(got), says) {
					t.Errorf("%s: got %v, want %s", text, got, says)
				}
			}()
			fact.New[lost](fact.Code("test of "+text), 0, text)
		}()
	}
}

func asText(v any) string {
	if err, is := v.(error); is {
		return err.Error()
	}
	return v.(string)
}

// Two facts say the same where their values do, and the arm and the metric that the sentence names.
func TestAlike(t *testing.T) {
	t.Parallel()
	of := func(where string) fact.Fact { return lostOf.Of(lost{Requests: 7, Where: where}) }
	other := fact.Fact{Code: "of-another-version", Text: "it is late"}
	for name, c := range map[string]struct {
		a, b fact.Fact
		want bool
	}{
		"the same":                                {of("a"), of("a"), true},
		"another value":                           {of("a"), of("b"), false},
		"another arm, which is named":             {of("a").On("pool"), of("a").On("loop"), false},
		"another metric, which is not named":      {of("a").At("p50"), of("a").At("p90"), true},
		"another reason below":                    {of("a").Since(of("c")), of("a").Since(of("d")), false},
		"another metric of a reason below":        {alone.Since(alone.At("p50")), alone.Since(alone.At("p90")), true},
		"another kind":                            {of("a"), alone, false},
		"another version's, with the same words":  {other, other.At("p50"), true},
		"another version's, with different words": {other, fact.Fact{Code: other.Code, Text: "it is early"}, false},
	} {
		if got := c.a.Alike(c.b); got != c.want {
			t.Errorf("%s: got %v", name, got)
		}
	}
}
