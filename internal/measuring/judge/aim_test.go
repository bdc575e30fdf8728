package judge

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"schedlab/internal/shared/fact"
	"schedlab/internal/shared/outcome"
	"schedlab/internal/shared/record"
	"schedlab/internal/shared/stats"
)

// fewest is a question as a file of its own adds one: which arm has the fewest blocks with errors?
type fewest struct {
	Winner `json:"-"`
	Most   int
}

var (
	fewestName   = question[fewest]("fewest-errors")
	fewestErrors = fact.New[struct{ Most int }]("fewest-errors", 0, `{{.Arm}} has {{plural .Most "block"}} with errors at most`)
)

func (a fewest) Record(p *record.Plan) { p.Ask = map[string]record.Note{fewestName: noteOf(a)} }

func (a fewest) judge(_ blocks, r *record.Comparison) {
	r.Answer = record.Conclusion{Outcome: outcome.Yes, Says: fewestErrors.Of(struct{ Most int }{a.Most}).On(r.Arms[0].Name)}
}

// What a plan asks is asked again of its record.
func TestTheNotedQuestionIsAskedAgain(t *testing.T) {
	t.Parallel()
	for _, asked := range []Aim{Winner{}, fewest{Most: 2}, Gate{stats.P50: {Share: .1}, stats.Memory: {Share: .2, Watched: true}}} {
		var p, read record.Plan
		asked.Record(&p)
		text, err := json.Marshal(p)
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(text, &read); err != nil {
			t.Fatal(err)
		}
		got, err := aimOf(read)
		if diff := cmp.Diff(asked, got); err != nil || diff != "" {
			t.Errorf("%T: %v (-asked +got)\n%s", asked, err, diff)
		}
	}
}

// A record is not judged by another question than its own.
func TestUnknownQuestion(t *testing.T) {
	t.Parallel()
	for want, p := range map[string]record.Plan{
		`its question is "later", which this schedlab does not know: use a newer schedlab`: {Ask: map[string]record.Note{"later": {}}},
		`the note of its question "fewest-errors" is damaged: json: cannot unmarshal`:      {Ask: map[string]record.Note{fewestName: {"Most": "two"}}},
		`the note of its question "gate" is damaged: json: cannot unmarshal`:               {Gate: record.Note{"p50": 1.}},
	} {
		dir, run := synthetic{blocks: 1}.write(t)
		run.Plan.Ask, run.Plan.Gate = p.Ask, p.Gate
		if _, err := FromRecord(dir, run); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

// The answer to another question takes the place of the conclusion which arm is best, also when its record is read.
func TestAnswerToAnotherQuestion(t *testing.T) {
	t.Parallel()
	dir, run := synthetic{}.write(t)
	fewest{Most: 3}.Record(&run.Plan)
	r, err := comparisonOf(dir, run)
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	var read record.Comparison
	if err := json.Unmarshal(text, &read); err != nil {
		t.Fatal(err)
	}
	for _, a := range []record.Conclusion{r.Answer, read.Answer} {
		if said, want := a.Says.String(), r.Arms[0].Name+" has 3 blocks with errors at most"; said != want || a.Outcome != outcome.Yes {
			t.Errorf("got %q, %s, want %q, yes", said, a.Outcome, want)
		}
	}
}
