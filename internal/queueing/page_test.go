package queueing_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// The page quotes every example with what it prints, so that neither changes alone.
func TestPageQuotesTheExamples(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "reference", "queueing.md"))
	if err != nil {
		t.Fatal(err)
	}
	source, err := os.ReadFile("example_test.go")
	if err != nil {
		t.Fatal(err)
	}
	examples := regexp.MustCompile(`(?s)func (Example\w+)\(\) \{\n(.*?)\n\}\n`).FindAllStringSubmatch(string(source), -1)
	quotes := strings.Count(string(page), "```go\n")
	if len(examples) == 0 || quotes != len(examples) {
		t.Errorf("the page has %d quotes of %d examples, want each once", quotes, len(examples))
	}
	for _, e := range examples {
		code := strings.ReplaceAll("\n"+e[2], "\n\t", "\n")
		if !strings.Contains(string(page), "```go"+code+"\n```\n") {
			t.Errorf("%s is not on the page as it is here:%s", e[1], code)
		}
	}
}
