package main

import (
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"schedlab/docs/experiments"
)

// cellsBelow returns the cells of the table that follows a line of a page, a list for each row, without the head.
func cellsBelow(t *testing.T, page, line string) (rows [][]string) {
	t.Helper()
	_, rest, ok := strings.Cut(page, line)
	if !ok {
		t.Fatalf("no line %q", line)
	}
	for text := range strings.Lines(rest) {
		switch {
		case strings.HasPrefix(text, "|"):
			var cells []string
			for cell := range strings.SplitSeq(strings.Trim(text, "|\n"), "|") {
				cells = append(cells, strings.TrimSpace(cell))
			}
			rows = append(rows, cells)
		case len(rows) > 0:
			return rows[2:]
		}
	}
	return nil
}

// leading reads the number that a cell begins with, such as 4,137 of "4,137/s".
func leading(t *testing.T, cell string) float64 {
	t.Helper()
	v, err := strconv.ParseFloat(strings.ReplaceAll(regexp.MustCompile(`^[\d,.]+`).FindString(cell), ",", ""), 64)
	if err != nil {
		t.Fatalf("cell %q: %v", cell, err)
	}
	return v
}

// Sentences that count or compare the rows of a table below them say what the table does, also when a tool
// has written the table anew.
func TestSentencesAboutTables(t *testing.T) {
	t.Parallel()
	said := func(page, want string) {
		t.Helper()
		if !strings.Contains(strings.Join(strings.Fields(read(t, filepath.Join(top, page))), " "), want) {
			t.Errorf("%s does not say %q, which its table does", page, want)
		}
	}
	us := map[string][]string{}
	for _, row := range cellsBelow(t, read(t, filepath.Join(top, "docs/evidence/benchmarks.md")), "## Every mode") {
		us[row[0]] = row
	}
	said("docs/evidence/benchmarks.md", fmt.Sprintf("of `bare-raw`: %.2f (%s against %s µs)", leading(t, us["loop"][1])/leading(t, us["bare-raw"][1]), us["loop"][1], us["bare-raw"][1]))
	said("docs/evidence/benchmarks.md", fmt.Sprintf("`goroutine` at most 1.05, **missed** (%.2f)", leading(t, us["goroutine"][2])))

	for _, row := range cellsBelow(t, read(t, filepath.Join(top, "docs/guide/ready-arms.md")), "<!-- measured: ") {
		if ratio, ok := strings.CutPrefix(row[5], "×"); ok { // p99, where requests wait
			said("docs/guide/ready-arms.md", "except for "+row[0]+" ("+ratio+" times net/http's, ")
		}
	}
}

// The findings that a second seed is told of, with an older build than the first run, are named at the top.
func TestFindingsNameOlderBuilds(t *testing.T) {
	t.Parallel()
	again, err := readRows(filepath.Join(dir, "answers-again.tsv"))
	if err != nil {
		t.Fatal(err)
	}
	rows := measured(t)
	head, rest, _ := strings.Cut(read(t, filepath.Join(top, "docs", "findings.md")), "\n## ")
	var older []string
	for section := range strings.SplitSeq(rest, "\n## ") {
		number, _, _ := strings.Cut(section, ".")
		second := linked(again, section)
		if strings.Contains(strings.Join(strings.Fields(section), " "), "second seed") && slices.ContainsFunc(linked(rows, section), func(first experiments.Row) bool {
			return len(of(second, first.Scenario)) > 0 && of(second, first.Scenario)[0].Day < first.Day
		}) {
			older = append(older, number)
		}
	}
	if len(older) == 0 {
		if strings.Contains(head, "older build") {
			t.Error("findings.md speaks of an older build, and no finding has one")
		}
		return
	}
	want := "for finding " + older[0] + " with an older build"
	if last := len(older) - 1; last > 0 {
		want = "for findings " + strings.Join(older[:last], ", ") + " and " + older[last] + " with an older build"
	}
	if !strings.Contains(strings.Join(strings.Fields(head), " "), want) {
		t.Errorf("findings.md does not say %q", want)
	}
}

// The comparisons of a server with itself are told with how many claimed a difference, their day and their build.
func TestHonestyIsDated(t *testing.T) {
	t.Parallel()
	record := read(t, filepath.Join(top, "docs/evidence/honesty.md"))
	// The table of those that claimed a difference follows; a smaller test has a record of its own before.
	counted := regexp.MustCompile(`(?s)\*\*(\d+) of 200 comparisons say that a primary metric differs(.*)`).FindStringSubmatch(record)
	if counted == nil {
		t.Fatal("honesty.md has no record of 200 comparisons")
	}
	record = counted[2]
	build := regexp.MustCompile(`schedlab ([0-9a-f]+);`).FindStringSubmatch(record)
	day := regexp.MustCompile(`(?m)^\| \d+ \| (\d{4}-\d\d-\d\d) `).FindStringSubmatch(record)
	if build == nil || day == nil {
		t.Fatal("honesty.md does not tell the build and the day of its 200 comparisons")
	}
	want := regexp.MustCompile(`(?i)of 200 comparisons of a server with itself[^.]*, ` + counted[1] + ` claimed a difference[^.]*` + day[1] + ", build " + build[1] + `\b`)
	for _, file := range []string{"README.md", "docs/evidence/honesty.md"} {
		text := strings.Join(strings.Fields(read(t, filepath.Join(top, file))), " ")
		if !want.MatchString(text) {
			t.Errorf("%s does not say that the 200 comparisons are of %s, build %s", file, day[1], build[1])
		}
	}
}
