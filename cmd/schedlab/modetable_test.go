package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"schedlab/internal/serving/model"
	"schedlab/internal/shared/mode"
	"schedlab/internal/shared/queueing"
)

// What a row of the table says is what its readers understand.
func TestRowsOfTheModeTable(t *testing.T) {
	t.Parallel()
	stations := []string{"", queueing.Pool, queueing.PerWorker, queueing.Loops, queueing.Goroutines}
	facts := modeFacts()
	traits := []string{mode.Inline, mode.SharedQueue, mode.OwnSockets, mode.OneAcceptor, mode.HandOff, mode.NewestFirst}
	for _, m := range model.Modes() {
		if !slices.Contains(stations, m.Station) {
			t.Errorf("%s: station %q is none of %q", m.Name, m.Station, stations)
		}
		if !slices.Contains([]string{"", "connection", "worker"}, m.Threads) {
			t.Errorf("%s: a thread for each %q", m.Name, m.Threads)
		}
		if (m.Depth != nil) != (m.Overflow != "") || m.Overflow != "" && !m.Allows(m.Overflow) {
			t.Errorf("%s: a queue %v, and its default policy %q of %s", m.Name, m.Depth != nil, m.Overflow, m.Axes.Overflow)
		}
		for trait, other := range m.Without {
			if _, known := facts[other]; !known || !slices.Contains(traits, trait) {
				t.Errorf("%s: without %q it is %q: want one of %q, and a mode", m.Name, trait, other, traits)
			}
		}
		if takes := facts[m.Name].Check(map[string]string{"workers": "3"}) == nil; m.Has("workers") != takes {
			t.Errorf("%s: planned with workers %v, and takes them %v", m.Name, m.Has("workers"), takes)
		}
	}
}

// ambiguous are names of modes that are also a load setting, a flag and a station.
var ambiguous = []string{"loop", "threads", "pool"}

// Outside the package model no code compares with the name of a mode, or lists it: what
// it must know of a mode is a field of the table.
func TestNoNameOfAModeDecides(t *testing.T) {
	t.Parallel()
	names := modeNames()
	for _, old := range mode.OldNames {
		if _, err := model.Lookup(old.Name); err != nil {
			t.Errorf("%v: %v", old, err)
		}
		names = append(names, old.Name)
	}
	names = slices.DeleteFunc(names, func(name string) bool { return slices.Contains(ambiguous, name) })
	inspect := func(path string) {
		files := token.NewFileSet()
		file, err := parser.ParseFile(files, path, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			var values []ast.Expr
			switch n := n.(type) {
			case *ast.BinaryExpr:
				values = []ast.Expr{n.X, n.Y}
			case *ast.CaseClause:
				values = n.List
			case *ast.CompositeLit:
				values = n.Elts
			case *ast.KeyValueExpr:
				values = []ast.Expr{n.Key}
			}
			for _, v := range values {
				if lit, ok := v.(*ast.BasicLit); ok && lit.Kind == token.STRING {
					if text, _ := strconv.Unquote(lit.Value); slices.Contains(names, text) {
						t.Errorf("%s: %q is the name of a mode; make what it stands for a field of the table in internal/serving/model/modes.go", files.Position(lit.Pos()), text)
					}
				}
			}
			return true
		})
	}
	for _, root := range []string{"..", filepath.Join("..", "..", "internal")} {
		err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			switch {
			case err != nil:
				return err
			case d.IsDir() && d.Name() == "model":
				return filepath.SkipDir
			case strings.HasSuffix(path, ".go") && !strings.HasSuffix(path, "_test.go"):
				inspect(path)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

// The example of docs/contributing/adding-a-mode.md can be applied to the program as it is.
func TestAddingAModeApplies(t *testing.T) {
	t.Parallel()
	need(t, "git")
	root := moduleRoot(t)
	page, err := os.ReadFile(filepath.Join(root, "docs", "contributing", "adding-a-mode.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(page), "```diff\n")
	diff, _, found := strings.Cut(rest, "```")
	if !found {
		t.Fatal("the page has no diff")
	}
	check := exec.CommandContext(t.Context(), "git", "apply", "--check", "-")
	check.Dir, check.Stdin = root, strings.NewReader(diff)
	if out, err := check.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
