package queueing_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// What the page quotes is an example with what it prints, so that neither changes alone.
func TestPageQuotesTheExamples(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile(filepath.Join("..", "..", "..", "docs", "reference", "queueing.md"))
	if err != nil {
		t.Fatal(err)
	}
	source, err := os.ReadFile("example_test.go")
	if err != nil {
		t.Fatal(err)
	}
	examples := regexp.MustCompile(`(?s)func (Example\w+)\(\) \{\n(.*?)\n\}\n`).FindAllStringSubmatch(string(source), -1)
	quotes := regexp.MustCompile("(?s)```go\n(.*?)\n```\n").FindAllStringSubmatch(string(page), -1)
	if len(quotes) < 2 {
		t.Errorf("the page has %d quotes of examples", len(quotes))
	}
	for _, q := range quotes {
		if !slices.ContainsFunc(examples, func(e []string) bool { return strings.ReplaceAll("\n"+e[2], "\n\t", "\n") == "\n"+q[1] }) {
			t.Errorf("no example is as the page quotes it:\n%s", q[1])
		}
	}
}
