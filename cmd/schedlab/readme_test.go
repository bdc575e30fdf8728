package main

import (
	"fmt"
	"math"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"schedlab/internal/shared/stats"
)

// A change in README's sample is the quotient of the two figures beside it, as on every screen.
func TestREADMEsChangesAreQuotients(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	// The figures of a row, each with its unit, and the change or mark after it.
	cell := regexp.MustCompile(`([\d.,]+)(?: [mµn]?s|/s)(?: +([=~*]|[-+][\d.]+ %))?`)
	var base []float64
	checked := 0
	for line := range strings.Lines(string(text)) {
		cells := cell.FindAllStringSubmatch(line, -1)
		if len(cells) != 5 || !regexp.MustCompile(`^\w+ {2,}\d`).MatchString(line) {
			continue
		}
		for i, c := range cells {
			v, err := strconv.ParseFloat(strings.ReplaceAll(c[1], ",", ""), 64)
			if err != nil {
				t.Fatal(err)
			}
			if len(base) < len(cells) { // the first row
				base = append(base, v)
				continue
			}
			if c[2] == "=" { // the same: within 10 %, and goodput, the fourth, within 3 %
				checked++
				if most := []float64{.1, .1, .1, .03, .1}[i]; math.Abs(v/base[i]-1) > most {
					t.Errorf("%s: %g beside %g is said to be the same", strings.Fields(line)[0], v, base[i])
				}
			}
			if !strings.HasSuffix(c[2], "%") {
				continue
			}
			checked++
			if want := stats.Change(v / base[i]); c[2] != want {
				t.Errorf("%s: %s beside %g and %g, want %s", strings.Fields(line)[0], c[2], base[i], v, want)
			}
			if label := []string{"p50", "p90", "p99"}; i < len(label) && !strings.Contains(string(text), fmt.Sprintf("%s %s", label[i], c[2])) {
				t.Errorf("the answer does not have %s %s", label[i], c[2])
			}
		}
	}
	if checked < 4 {
		t.Errorf("only %d changes and equals were found", checked)
	}
}
