package main

import (
	"bytes"
	"fmt"
	"go/format"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"golang.org/x/mod/modfile"
)

// until marks a line of a page that is true only until schedlab is published.
const until = "<!-- until it is published -->"

// rewrite changes a file of the repository from one place to another: the paths of modules in go.mod, the
// values of the place in all other text, and imports of Go files, too.
func rewrite(file string, from, to Place) error {
	info, err := os.Lstat(file)
	if err != nil || !info.Mode().IsRegular() {
		return err
	}
	old, err := os.ReadFile(file)
	if err != nil || bytes.IndexByte(old, 0) >= 0 {
		return err
	}
	var changed []byte
	switch {
	case filepath.Ext(file) == ".go":
		changed, err = inGo(old, from.Module, to.Module)
		if !strings.HasSuffix(file, "_test.go") { // a test's literals stay
			changed = withValues(changed, from, to)
		}
	case filepath.Base(file) == "go.mod":
		changed, err = inGoMod(file, old, from.Module, to.Module)
	default:
		changed = inText(old, from, to)
	}
	if err != nil {
		return fmt.Errorf("rewriting %s: %w", file, err)
	}
	if bytes.Equal(old, changed) {
		return nil
	}
	return os.WriteFile(file, changed, info.Mode().Perm())
}

// moved returns a package's path in the module that was called from and is called to.
func moved(path, from, to string) (string, bool) {
	if rest, ours := strings.CutPrefix(path, from); ours && (rest == "" || rest[0] == '/') {
		return to + rest, true
	}
	return path, false
}

// inGo returns a Go file with the imports of the module's new path. A file without such imports stays as it
// is, so that samples of faulty code may lie in testdata.
func inGo(old []byte, from, to string) ([]byte, error) {
	if !bytes.Contains(old, []byte(`"`+from)) {
		return old, nil
	}
	files := token.NewFileSet()
	f, err := parser.ParseFile(files, "", old, parser.ImportsOnly)
	if err != nil {
		return nil, err
	}
	var changed []byte
	end := 0
	for _, i := range f.Imports {
		path, err := strconv.Unquote(i.Path.Value)
		if err != nil {
			return nil, err
		}
		if path, ours := moved(path, from, to); ours {
			changed = append(changed, old[end:files.Position(i.Path.Pos()).Offset]...)
			changed = strconv.AppendQuote(changed, path)
			end = files.Position(i.Path.End()).Offset
		}
	}
	if end == 0 {
		return old, nil
	}
	return format.Source(append(changed, old[end:]...))
}

// inGoMod returns a go.mod with the new paths of this module and of those below it, in the order of go mod tidy.
func inGoMod(name string, old []byte, from, to string) ([]byte, error) {
	f, err := modfile.Parse(name, old, nil)
	if err != nil {
		return nil, err
	}
	found := false
	rename := func(l *modfile.Line) {
		for i, t := range l.Token {
			path, ours := moved(t, from, to)
			l.Token[i], found = path, found || ours
		}
	}
	for _, s := range f.Syntax.Stmt {
		switch s := s.(type) {
		case *modfile.Line:
			rename(s)
		case *modfile.LineBlock:
			for _, l := range s.Line {
				rename(l)
			}
		}
	}
	if !found {
		return old, nil
	}
	f, err = modfile.Parse(name, modfile.Format(f.Syntax), nil)
	if err != nil {
		return nil, err
	}
	f.SortBlocks()
	return modfile.Format(f.Syntax), nil
}

// withValues returns text with the values of the new place.
func withValues(old []byte, from, to Place) []byte {
	return []byte(strings.NewReplacer(from.values(to)...).Replace(string(old)))
}

// inText returns text with the new place's values and without the lines that are true only until schedlab is
// published. Packages, too, have their new paths: in the linter's rules, and where a page prints go test.
func inText(old []byte, from, to Place) []byte {
	text := string(old)
	if strings.Contains(text, until) {
		var kept strings.Builder
		for line := range strings.Lines(text) {
			if !strings.Contains(line, until) {
				kept.WriteString(line)
			}
		}
		text = kept.String()
	}
	text = string(withValues([]byte(text), from, to))
	if from.Module == from.Page { // the values had it
		return []byte(text)
	}
	packages := regexp.MustCompile(`(?m)(^|[^\w./@-])` + regexp.QuoteMeta(from.Module) + `(/(?:cmd|docs|internal|loadtests|tools)\b)`)
	text = packages.ReplaceAllString(text, "${1}"+to.Module+"${2}")
	return []byte(strings.ReplaceAll(text, "{pkg: "+from.Module+",", "{pkg: "+to.Module+","))
}
