package expect

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"schedlab/internal/shared/stats"
)

// One statement may ask for the x_max of so many arms, and not of more.
func TestMostProbes(t *testing.T) {
	t.Parallel()
	var many []string
	for i := range mostProbes + 1 {
		many = append(many, fmt.Sprintf(`x_max("a%d")`, i))
	}
	for text, refused := range map[string]bool{
		strings.Join(many, " + ") + " > 1":                                 true,
		`p50("a0") > 0 || not (` + strings.Join(many, " + ") + " > 1)":     true,
		strings.Join(many[1:], " + ") + " > 1":                             false,
		strings.Join(many[1:], " > 1 && ") + " > 1 && " + many[0] + " > 1": false,
	} {
		_, err := Parse(text, nil)
		if got := err != nil && strings.Contains(err.Error(), "x_max of 9 arms in one statement, and at most 8"); got != refused || err != nil && !refused {
			t.Errorf("%s: got %v, refused %v", text, err, refused)
		}
	}
}

// Whatever is written, every character of the rewritten text has its place in the first,
// and what is wrong with it is in it.
func FuzzRewrite(f *testing.F) {
	for _, text := range []string{`p50("nethttp") < 5ms`, `not (explained("queue") >= 0.8)`, "10msx", "'", "((", `"10ms" == '5s'`, "1ms <", `"ä`, "p50(\"a\\"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if len(text) > 1000 {
			return
		}
		code, from := rewrite(text)
		if len(from) != len([]rune(code))+1 {
			t.Fatalf("%q: %d places for the %d characters of %q", text, len(from), len([]rune(code)), code)
		}
		_, err := Parse(text, []string{"a"})
		var bad *Error
		if errors.As(err, &bad) && (bad.At < 0 || bad.At > len([]rune(text))) || err != nil && bad == nil {
			t.Fatalf("%q: the error %v is at %+v", text, err, bad)
		}
	})
}

func TestQuantiles(t *testing.T) {
	t.Parallel()
	got := Quantiles([]string{`p99("a") < p50("b") && same("goodput")`, `not slower("p99", "new")`, `mean("a") < 3ms`, `explained("queue", "p9")`})
	if !slices.Equal(got, []stats.Figure{stats.P50, stats.P99}) {
		t.Errorf("got %q", got)
	}
}
