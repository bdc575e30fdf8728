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
	for name, figure := range map[string]*regexp.Regexp{
		"memory":   regexp.MustCompile(`([\d.,]+) KiB`),
		"shutdown": regexp.MustCompile(`\b(\d+) (?:of 200|requests were lost)`),
		"nobody":   regexp.MustCompile(`([\d.,]+) (?:requests for nobody|goroutines|µs)`),
		"tls":      regexp.MustCompile(`([\d.,]+) µs`),
	} {
		text, err := os.ReadFile(name + ".md")
		if err != nil {
			t.Fatal(err)
		}
		page, err := pageOf(".", name, string(text))
		if err != nil {
			t.Fatal(err)
		}
		if page != string(text) {
			t.Errorf("%s.md is not as its record has it; run tools/counts pages", name)
		}
		if strings.Contains(page, notMeasured) {
			if _, err := os.Stat(name + ".json"); err == nil {
				t.Errorf("%s.md says that nothing is measured, and there is a record", name)
			}
			continue
		}
		table := measuredPart.FindString(page)
		// What was supposed before the first run is not measured.
		said := regexp.MustCompile(`(?m)^\| \d+ \| [^|]*\|`).ReplaceAllString(measuredPart.ReplaceAllString(page, ""), "|")
		found := figure.FindAllStringSubmatch(strings.Join(strings.Fields(said), " "), -1)
		if len(found) == 0 {
			t.Errorf("%s.md says no figure", name)
		}
		for _, m := range found {
			if !regexp.MustCompile(`(?:^|[^\d.,])` + regexp.QuoteMeta(m[1]) + `(?:[^\d.,]|, |; |$)`).MatchString(table) {
				t.Errorf("%s.md says %q, which is not in its table", name, m[0])
			}
		}
	}
}
