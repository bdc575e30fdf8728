package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"schedlab/internal/shared/outcome"
)

// Outcomes have the words of package outcome alone. No text of the program, no golden screen and no page
// has another word for one, and no JSON has an "outcome" that is none or a "verdict" that is neither a rank
// nor open or refused. Beside an outcome its "answer" is the phrase of a question. Of the machine, in the fact of an older record, it is doctor's phrase.
func TestOutcomesHaveOneWord(t *testing.T) {
	t.Parallel()
	other := regexp.MustCompile(`^"(beyond|correlated|no-cause|no-difference|no-verdict|not-confirmed|not-known|undecidable|untestable|untested)"$|INCONCLUSIVE|\bREFUSED\b|\bBROKEN\b|<td>broken<|\bCannot tell whether\b|\bNot so:|Correlated, not confirmed|\bNot known whether they differ|(?i:\bundecided\b|\bundecidable\b|\bin doubt\b)`)
	written := regexp.MustCompile(`"outcome": ?"([a-z-]*)"`)
	verdicts := []string{"FASTER", "SLOWER", "HIGHER", "LOWER", "SAME", "open", "refused"}
	for _, o := range outcome.All() {
		verdicts = append(verdicts, outcome.Machine.Phrase(o))
	}
	questions := []outcome.Question{outcome.Winner, outcome.Gate, outcome.Expectation, outcome.Capacity, outcome.Workers, outcome.Machine, outcome.Figures, outcome.Difference, outcome.Cause}
	phrased := regexp.MustCompile(`"outcome": ?"([a-z-]*)",\s*"answer": ?"([^"]*)"`)
	compared := regexp.MustCompile(`"(?:verdict|lean)": ?"([A-Za-z-]*)"`)
	// These read older records.
	may := regexp.MustCompile(`^internal/(shared/(outcome|stats/metric\.go|record/answer\.go)|capabilities/explain/explanation\.go)|^docs/(experiments|decisions)/|^CHANGELOG`)
	root := moduleRoot(t)
	read := 0
	err := filepath.WalkDir(root, func(path string, d os.DirEntry, err error) error {
		name, relErr := filepath.Rel(root, path)
		switch {
		case err != nil || relErr != nil:
			return err
		case d.IsDir() && (strings.HasPrefix(d.Name(), ".") && name != "." || slices.Contains([]string{"tools", "bin", "schedlab-runs", "frozen"}, d.Name())):
			return filepath.SkipDir
		case d.IsDir() || may.MatchString(filepath.ToSlash(name)) || strings.HasSuffix(name, "_test.go"):
			return nil
		}
		var texts []string
		golden := strings.Contains(name, "testdata") && slices.Contains([]string{".txt", ".md", ".html", ".json", ".csv", ".golden", ".txtar"}, filepath.Ext(name))
		switch {
		case filepath.Ext(name) == ".go":
			file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
			if err != nil {
				return nil //nolint:nilerr // a sample that is no Go
			}
			ast.Inspect(file, func(n ast.Node) bool {
				if l, is := n.(*ast.BasicLit); is && l.Kind == token.STRING {
					texts = append(texts, l.Value)
				}
				return true
			})
		case golden || filepath.Ext(name) == ".md":
			text, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			for _, m := range phrased.FindAllStringSubmatch(string(text), -1) {
				if !slices.ContainsFunc(questions, func(q outcome.Question) bool {
					return q.Phrase(outcome.Outcome(m[1])) == strings.TrimSuffix(m[2], " with reservations") // of doctor
				}) {
					t.Errorf("%s: %q is no phrase for %q", name, m[2], m[1])
				}
			}
			texts = strings.Split(string(text), "\n")
		}
		read += len(texts)
		for _, text := range texts {
			for _, m := range written.FindAllStringSubmatch(text, -1) {
				if !slices.Contains(outcome.All(), outcome.Outcome(m[1])) {
					t.Errorf("%s: %s is no outcome", name, m[0])
				}
			}
			for _, m := range compared.FindAllStringSubmatch(text, -1) {
				if !slices.Contains(verdicts, m[1]) {
					t.Errorf("%s: %s is neither a rank nor open or refused", name, m[0])
				}
			}
			if at := other.FindStringIndex(text); at != nil {
				t.Errorf("%s: %q is another word for an outcome, in …%s", name, text[at[0]:at[1]], text[max(0, at[0]-40):min(len(text), at[1]+40)])
			}
		}
		return nil
	})
	if err != nil || read < 1000 {
		t.Fatalf("read %d texts: %v", read, err)
	}
}
