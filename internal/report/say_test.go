package report

import (
	"go/ast"
	"go/parser"
	gotoken "go/token"
	"strconv"
	"strings"
	"testing"

	"schedlab/internal/record"
)

// said is a fact of a code that has no template: its text is what it came with.
func said(text string) record.Fact {
	if text == "" {
		return record.Fact{}
	}
	return record.Fact{Code: "test", Text: text}
}

// codes are all that record has.
func codes(t *testing.T) (all []record.Code) {
	t.Helper()
	file, err := parser.ParseFile(gotoken.NewFileSet(), "../record/fact.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	ast.Inspect(file, func(n ast.Node) bool {
		if spec, ok := n.(*ast.ValueSpec); ok {
			for _, v := range spec.Values {
				code, err := strconv.Unquote(v.(*ast.BasicLit).Value)
				if err != nil {
					t.Fatal(err)
				}
				all = append(all, record.Code(code))
			}
		}
		return true
	})
	return all
}

// Every code has one template, which can be filled in, and no template is of no code.
func TestEveryCodeHasItsWords(t *testing.T) {
	t.Parallel()
	all := codes(t)
	known := map[record.Code]bool{}
	for _, code := range all {
		if known[code] {
			t.Errorf("%s is the code of two facts", code)
		}
		known[code] = true
		_, ofMachine := findings[code]
		if (messages[code] == "") == !ofMachine {
			t.Errorf("%s has no template, or two", code)
			continue
		}
		f := record.Fact{Code: code, Arm: "pool", Baseline: "nethttp", Metric: "p99", Values: record.Values{}, Names: record.Names{"error": "it broke", "said": "so", "why": "it is", "source": "tsc"}}
		f.Because = []record.Fact{{Code: record.CauseUnknownCPU, Arm: "pool"}}
		if text := Say(f); text == "" || strings.HasPrefix(text, string(code)+" (") || strings.Contains(text, "<no value>") {
			t.Errorf("%s: got %q", code, text)
		}
	}
	for code := range findings {
		if !known[code] {
			t.Errorf("%s has a template and is no code of package record", code)
		}
	}
	for code := range messages {
		if !known[code] {
			t.Errorf("%s has a template and is no code of package record", code)
		}
	}
}

func TestSay(t *testing.T) {
	t.Parallel()
	for want, f := range map[string]record.Fact{
		"1 worker cannot keep up: by Little's law 500/s x 2.5 ms held needs 2": {
			Code: record.TooFewWorkers, Values: record.Values{"workers": 1, "rate": 500, "held": .0025, "needed": 2},
		},
		"its own copy: too few requests: p99 needs 1100": {
			Code: record.CauseAA, Because: []record.Fact{{Code: record.CauseFewRequests, Metric: "p99", Values: record.Values{"needed": 1100}}},
		},
		"36 == 64 in the median; true in 0 of 10 blocks": {
			Code: record.Tally, Values: record.Values{"yes": 0, "blocks": 10}, Names: record.Names{"sides": "36 == 64"},
		},
		"3 of 10 blocks outside: 2 below, 1 above": {
			Code: record.Tally, Values: record.Values{"yes": 7, "blocks": 10, "outside": 3, "below": 2, "above": 1},
		},
		"words of a newer version": {Code: "unheard-of", Text: "words of a newer version"},
		"unheard-of":               {Code: "unheard-of"},
	} {
		if got := Say(f); got != want {
			t.Errorf("got  %q\nwant %q", got, want)
		}
	}
	if got, want := Doubt(record.Fact{Code: record.Overloaded, Arm: "pool"}), "pool: overloaded"; !strings.HasPrefix(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
