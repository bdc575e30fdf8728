package model_test

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"schedlab/internal/model"
)

var update = flag.Bool("update", false, "rewrite the tables of docs/evidence/hostile.md")

const document = "../../docs/evidence/hostile.md"

// outcomes are how the hostile requests ended, by mode and in their order.
type outcomes map[string][]string

// checkDocument compares the document's tables with what was seen.
func checkDocument(t *testing.T, seen outcomes) {
	old, err := os.ReadFile(document)
	if err != nil {
		t.Error(err)
		return
	}
	text := string(old)
	for _, table := range []struct{ name, rows string }{
		{"modes", seen.modeTable()},
		{"requests", seen.requestTable()},
	} {
		begin, end := "<!-- "+table.name+": generated -->\n", "<!-- end of "+table.name+" -->\n"
		head, rest, ok := strings.Cut(text, begin)
		_, tail, closed := strings.Cut(rest, end)
		if !ok || !closed {
			t.Errorf("%s has no table %q", document, table.name)
			return
		}
		text = head + begin + table.rows + end + tail
	}
	if *update {
		if err := os.WriteFile(document, []byte(text), 0o644); err != nil {
			t.Error(err)
		}
		return
	}
	if diff := cmp.Diff(string(old), text); diff != "" {
		t.Errorf("%s is not what was seen (-, +); -update rewrites it:\n%s", document, diff)
	}
}

// modeTable has a row for each mode. What it says of crowds and overload is what
// TestHostileCrowds and TestHostileOverload hold the mode to.
func (seen outcomes) modeTable() string {
	var b strings.Builder
	b.WriteString("| mode | malformed requests | slow heads | slow bodies | slow readers | idle clients | overload |\n|---|---|---|---|---|---|---|\n")
	for _, mode := range model.Variants() {
		refused, closed, served := 0, 0, 0
		for _, outcome := range seen[mode.Name] {
			switch {
			case outcome == "closed":
				closed++
			case slices.Contains([]string{"served", "200, closed"}, outcome):
				served++
			default:
				refused++
			}
		}
		fmt.Fprintf(&b, "| %s | %d refused, %d closed, %d served | ", mode.Name, refused, closed, served)
		for _, d := range slowClients() {
			if holdsWorkers(mode, d) {
				b.WriteString("others wait | ")
			} else {
				b.WriteString("all answered | ")
			}
		}
		if refuses(mode) {
			b.WriteString("refuses |\n")
		} else {
			b.WriteString("everybody waits |\n")
		}
	}
	return b.String()
}

// requestTable has a row for each request, with the modes that end it otherwise
// than most.
func (seen outcomes) requestTable() string {
	var b strings.Builder
	b.WriteString("| RFC 9112 | request | outcome |\n|---|---|---|\n")
	for i, tc := range hostileRequests() {
		count := make(map[string]int)
		usual := ""
		for _, mode := range model.Variants() {
			outcome := seen[mode.Name][i]
			if count[outcome]++; count[outcome] > count[usual] {
				usual = outcome
			}
		}
		cell := usual
		for _, mode := range model.Variants() {
			if outcome := seen[mode.Name][i]; outcome != usual {
				cell += "; " + mode.Name + ": " + outcome
			}
		}
		if strings.Contains(cell, "served") || strings.Contains(cell, "200") {
			cell += " (" + tc.served + ")"
		}
		section := "§" + tc.rfc
		if strings.Contains(tc.rfc, "§") {
			section = "RFC " + tc.rfc
		}
		fmt.Fprintf(&b, "| %s | %s | %s |\n", section, tc.name, cell)
	}
	return b.String()
}
