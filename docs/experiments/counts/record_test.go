package main

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

// The tables are those of the records, and a sentence has no figure that its table has not.
func TestPagesAreOfTheRecords(t *testing.T) {
	t.Parallel()
	figures := map[string]*regexp.Regexp{
		"memory":   regexp.MustCompile(`([\d.,]+) KiB`),
		"shutdown": regexp.MustCompile(`\b(\d+) (?:of 200|requests were lost)`),
		"nobody":   regexp.MustCompile(`([\d.,]+) (?:requests for nobody|goroutines|µs)`),
		"tls":      regexp.MustCompile(`([\d.,]+) (?:µs|%)`),
	}
	for _, p := range pages {
		text, err := os.ReadFile(p.name + ".md")
		if err != nil {
			t.Fatal(err)
		}
		filled, err := p.fill(".", text)
		if err != nil {
			t.Fatal(err)
		}
		got := string(filled)
		if got != string(text) {
			t.Errorf("%s.md is not as its record has it; run tools/counts pages", p.name)
		}
		table := measuredPart.FindString(got)
		// What was supposed before the first run is not measured.
		said := regexp.MustCompile(`(?m)^\| \d+ \| [^|]*\|`).ReplaceAllString(measuredPart.ReplaceAllString(got, ""), "|")
		found := figures[p.name].FindAllStringSubmatch(strings.Join(strings.Fields(said), " "), -1)
		if len(found) == 0 {
			t.Errorf("%s.md says no figure", p.name)
		}
		for _, m := range found {
			if !regexp.MustCompile(`(?:^|[^\d.,])` + regexp.QuoteMeta(m[1]) + `(?:[^\d.,]|, |; |$)`).MatchString(table) {
				t.Errorf("%s.md says %q, which is not in its table", p.name, m[0])
			}
		}
	}
}
