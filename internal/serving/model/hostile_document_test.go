package model_test

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"schedlab/internal/serving/model"
)

var update = flag.Bool("update", false, "rewrite the tables of docs/evidence/hostile.md and testdata/hostile-requests.md")

// The page with what differs between modes, and the file with the outcome of every request.
const (
	document = "../../../docs/evidence/hostile.md"
	requests = "testdata/hostile-requests.md"
)

// outcomes are how the hostile requests ended, by mode and in their order.
type outcomes map[string][]string

// checkDocument compares the tables of the document, and the file of all requests, with what was seen.
func checkDocument(t *testing.T, seen outcomes) {
	all, exceptions := seen.requestTables()
	for _, table := range []struct{ file, name, rows string }{
		{document, "modes", seen.modeTable()},
		{document, "exceptions", exceptions},
		{requests, "requests", all},
	} {
		old, err := os.ReadFile(table.file)
		if err != nil {
			t.Error(err)
			return
		}
		begin, end := "<!-- "+table.name+": generated -->\n", "<!-- end of "+table.name+" -->\n"
		head, rest, ok := strings.Cut(string(old), begin)
		_, tail, closed := strings.Cut(rest, end)
		if !ok || !closed {
			t.Errorf("%s has no table %q", table.file, table.name)
			return
		}
		text := head + begin + table.rows + end + tail
		if *update {
			if err := os.WriteFile(table.file, []byte(text), 0o644); err != nil {
				t.Error(err)
			}
		} else if diff := cmp.Diff(string(old), text); diff != "" {
			t.Errorf("%s is not what was seen (-, +); -update rewrites it:\n%s", table.file, diff)
		}
	}
}

// modeTable has a row for the modes that behave alike. What it says of crowds and overload is what
// TestHostileCrowds and TestHostileOverload hold the mode to.
func (seen outcomes) modeTable() string {
	var rows []string
	alike := map[string][]string{} // modes by the rest of their row
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
		row := fmt.Sprintf("%d refused, %d closed, %d served", refused, closed, served)
		for _, d := range slowClients() {
			if holdsWorkers(mode, d) {
				row += " | others wait"
			} else {
				row += " | all answered"
			}
		}
		if refuses(mode) {
			row += " | refuses"
		} else {
			row += " | everybody waits"
		}
		if alike[row] == nil {
			rows = append(rows, row)
		}
		alike[row] = append(alike[row], mode.Name)
	}
	var b strings.Builder
	b.WriteString("| modes | malformed requests | slow heads | slow bodies | slow readers | idle clients | overload |\n|---|---|---|---|---|---|---|\n")
	for _, row := range rows {
		fmt.Fprintf(&b, "| %s | %s |\n", strings.Join(alike[row], ", "), row)
	}
	return b.String()
}

// requestTables have a row for each request, with the modes that end it otherwise than most: all requests, and the
// exceptions, those that some mode serves or ends differently.
func (seen outcomes) requestTables() (all, exceptions string) {
	const head = "| RFC 9112 | request | outcome |\n|---|---|---|\n"
	all, exceptions = head, head
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
		served := strings.Contains(cell, "served") || strings.Contains(cell, "200")
		if served {
			cell += " (" + tc.served + ")"
		}
		section := "§" + tc.rfc
		if strings.Contains(tc.rfc, "§") {
			section = "RFC " + tc.rfc
		}
		row := fmt.Sprintf("| %s | %s | %s |\n", section, tc.name, cell)
		all += row
		if served || strings.Contains(cell, "; ") {
			exceptions += row
		}
	}
	return all, exceptions
}
