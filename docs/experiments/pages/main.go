// Command pages keeps docs/experiments: its file of answers, and the tables and charts that its pages have
// from this file, with that of docs/choosing.md. tools/experiments runs it, at the top of the tree.
//
//	go run ./docs/experiments/pages                 # writes the tables and charts anew
//	go run ./docs/experiments/pages add RUN...      # brings records into answers.tsv, and then does that
//	go run ./docs/experiments/pages again RUN...    # brings records into answers-again.tsv, and no more
//
// It measures nothing. A record is judged by the rules of today.
package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"schedlab/docs/experiments"
)

func main() {
	if err := run("docs/experiments", os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintf(os.Stderr, "pages: %v\n", err)
		os.Exit(2)
	}
}

// run does what the arguments ask for, in the directory of the pages.
func run(dir string, args []string, out io.Writer) error {
	if len(args) == 0 {
		return writePages(dir, out)
	}
	file := map[string]string{"add": "answers.tsv", "again": "answers-again.tsv"}[args[0]]
	if file == "" || len(args) == 1 {
		return fmt.Errorf("got %q, want add or again, and records after it", strings.Join(args, " "))
	}
	if err := addRecords(filepath.Join(dir, file), args[1:]); err != nil {
		return err
	}
	return writePages(dir, out)
}

// addRecords replaces the rows of the records' scenarios in a file of answers.
func addRecords(file string, records []string) error {
	rows, err := readRows(file)
	for _, name := range records {
		if err != nil {
			return err
		}
		var of []experiments.Row
		if of, err = recorded(name); err == nil {
			rows = experiments.With(rows, of[0].Scenario, of)
		}
	}
	if err != nil {
		return err
	}
	return os.WriteFile(file, []byte(experiments.Format(rows)), 0o644)
}

// readRows reads a file of answers.
func readRows(file string) ([]experiments.Row, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	rows, err := experiments.Parse(string(text))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return rows, nil
}

// writePages writes the tables and the chart of each page anew, from answers.tsv and answers-again.tsv, and the table of
// choosing.md beside dir. It prints which pages it changed.
func writePages(dir string, out io.Writer) error {
	rows, err := readRows(filepath.Join(dir, "answers.tsv"))
	if err != nil {
		return err
	}
	again, err := readRows(filepath.Join(dir, "answers-again.tsv"))
	if err != nil {
		return err
	}
	files, err := filepath.Glob(filepath.Join(dir, "*.md"))
	if err != nil {
		return err
	}
	pages := map[string]string{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		name := strings.TrimSuffix(filepath.Base(file), ".md")
		if name == "README" || planned(string(text)) {
			continue
		}
		pages[name] = string(text)
		chart, err := os.ReadFile(filepath.Join(dir, "charts", name+".txt"))
		if err != nil {
			return err
		}
		p, err := newPage(string(text), string(chart), rows, again)
		if err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
		for path, content := range map[string]string{file: p.Text, filepath.Join(dir, "charts", name+".svg"): p.Chart} {
			if was, err := os.ReadFile(path); err == nil && string(was) == content {
				continue
			}
			if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
				return err
			}
			fmt.Fprintln(out, path)
		}
	}
	file := filepath.Join(filepath.Dir(dir), "choosing.md")
	changed, err := writeChoosing(file, rows, homes(pages))
	if changed {
		fmt.Fprintln(out, file)
	}
	return err
}

// planned reports whether a page has hypotheses and no figures: its experiment was not run yet. It has no chart then.
func planned(page string) bool { return !figuresPart.MatchString(page) }

// of returns the rows of one scenario.
func of(rows []experiments.Row, scenario string) []experiments.Row {
	return slices.DeleteFunc(slices.Clone(rows), func(r experiments.Row) bool { return r.Scenario != scenario })
}
