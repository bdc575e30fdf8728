package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"schedlab/internal/capabilities/session"
	"schedlab/internal/capabilities/size"
	"schedlab/internal/measuring/scenario/demo"
	"schedlab/internal/shared/cmdline"
	"schedlab/loadtests"
)

// shown is a command that the documentation shows.
type shown struct {
	at   string // file and line
	argv []string
}

var (
	commandLine = regexp.MustCompile(`(?:^|[\s` + "`" + `$])(?:go run \./cmd/schedlab|(?:bin/)?schedlab) ((?:compare|size)(?: .*)?)$`)
	inlineCode  = regexp.MustCompile("`((?:bin/)?schedlab (?:compare|size) [^`]*)`")
)

// shownIn finds the commands in a document: lines of its fenced blocks, with what
// continues them, and code within its sentences.
func shownIn(t *testing.T, name, text string) (all []shown) {
	t.Helper()
	fenced, line := false, ""
	for i, l := range strings.Split(text, "\n") {
		at := fmt.Sprintf("%s:%d", name, i+1)
		if strings.HasPrefix(strings.TrimSpace(l), "```") {
			fenced, line = !fenced, ""
			continue
		}
		if !fenced {
			if strings.Contains(l, "Command") { // a record of what was run, and in how many sessions
				continue
			}
			for _, m := range inlineCode.FindAllStringSubmatch(l, -1) {
				all = append(all, shown{at, words(t, at, m[1])[1:]})
			}
			continue
		}
		begun, more := strings.CutSuffix(line+l, `\`)
		if line = begun; more {
			continue
		}
		if m := commandLine.FindStringSubmatch(line); m != nil {
			all = append(all, shown{at, words(t, at, m[1])})
		}
		line = ""
	}
	return all
}

// words splits a line as a shell does: quotes, and comments.
func words(t *testing.T, at, line string) (argv []string) {
	t.Helper()
	var word strings.Builder
	quote, begun := rune(0), false
	end := func() {
		if begun {
			argv = append(argv, word.String())
			word.Reset()
			begun = false
		}
	}
	for _, r := range line {
		switch {
		case quote != 0 && r == quote:
			quote = 0
		case quote == 0 && (r == '\'' || r == '"'):
			quote, begun = r, true
		case quote == 0 && r == ' ':
			end()
		case quote == 0 && r == '#' && !begun:
			return argv
		default:
			word.WriteRune(r)
			begun = true
		}
	}
	if quote != 0 {
		t.Fatalf("%s: a quote is not closed in %s", at, line)
	}
	end()
	return argv
}

// asShown makes the files that the documents' commands name, in the working directory.
func asShown(t *testing.T) {
	t.Helper()
	dir := t.TempDir()
	program := []byte("#!/bin/sh\n")
	files := map[string][]byte{
		"reqs.txt": []byte("GET http://server/\n"), "requests.txt": []byte("GET http://server/\n"), "access.log": accessLog(),
	}
	for _, name := range []string{"old", "new", "server", "b"} {
		files[name] = program
	}
	mine, err := loadtests.Scenarios.ReadFile("plaintext.yaml")
	if err != nil {
		t.Fatal(err)
	}
	files["mine.yaml"] = mine
	arms := filepath.Join(moduleRoot(t), "loadtests", "arms")
	ready, err := filepath.Glob(filepath.Join(arms, "*", "main.go"))
	if err != nil || len(ready) == 0 {
		t.Fatalf("ready arms: %v, %v", ready, err)
	}
	for _, file := range ready { // as 'make arms' builds them
		files[filepath.Join("bin", "arms", filepath.Base(filepath.Dir(file)))] = program
	}
	if err := os.Mkdir(filepath.Join(dir, "loadtests"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(arms, filepath.Join(dir, "loadtests", "arms")); err != nil {
		t.Fatal(err)
	}
	for name, data := range files {
		if err := os.MkdirAll(filepath.Join(dir, filepath.Dir(name)), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	t.Chdir(dir)
}

// accessLog is twenty seconds of a service with 2,000 requests a second.
func accessLog() []byte {
	var b strings.Builder
	for i := range 40_000 {
		fmt.Fprintf(&b, "127.0.0.1 - - [01/Mar/2026:10:00:%02d +0000] \"GET /%d HTTP/1.1\" 200 10 \"-\" \"curl\"\n", i/2000, i%7)
	}
	return []byte(b.String())
}

// The documentation's own commands are sound, and can decide what they ask: nobody who
// copies one waits a minute for nothing.
func TestShownCommandsCanDecide(t *testing.T) {
	root := moduleRoot(t)
	docs, err := filepath.Glob(filepath.Join(root, "docs", "*", "*.md"))
	if err != nil {
		t.Fatal(err)
	}
	var all []shown
	for _, file := range append(docs, filepath.Join(root, "README.md"), filepath.Join(root, "docs", "choosing.md")) {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, shownIn(t, filepath.Base(file), string(text))...)
	}
	if len(all) < 30 {
		t.Fatalf("found %d commands only: %v", len(all), all)
	}
	asShown(t)
	for _, c := range all {
		switch {
		case c.argv[0] == "size":
			sized(t, c)
		default:
			plannable(t, c)
		}
	}
}

// plannable dry-runs a comparison.
func plannable(t *testing.T, c shown) {
	t.Helper()
	if slices.ContainsFunc(c.argv, func(w string) bool { return w == "--resume" || w == "DIR" || strings.Contains(w, "|") }) {
		return // a grid that is there already, the reader's own directory, a choice
	}
	var out, errs strings.Builder
	argv := slices.DeleteFunc(slices.Clone(c.argv), func(w string) bool { return w == "--dry-run" })
	if i := slices.Index(argv, "--output"); i >= 0 { // of the result, which a dry run has not
		argv = slices.Delete(argv, i, i+2)
	}
	if code := run(t.Context(), append(argv, "--dry-run", "--cpus", "none"), &out, &errs); code != session.Done {
		t.Errorf("%s: schedlab %s: exit code %d: %s", c.at, strings.Join(c.argv, " "), code, &errs)
	}
	scenario := ""
	for l := range strings.Lines(out.String()) {
		if name, ok := strings.CutPrefix(l, "scenario "); ok {
			scenario, _, _ = strings.Cut(strings.TrimSpace(name), ":")
		}
		if why, bad := strings.CutPrefix(l, "open        "); bad {
			t.Errorf("%s: schedlab %s: %s: %s", c.at, strings.Join(c.argv, " "), scenario, strings.TrimSpace(why))
		}
	}
}

// sized advises as the page shows, and plans the comparison with which the answer ends.
func sized(t *testing.T, c shown) {
	t.Helper()
	f, cmd := sizeAsShown(t, c)
	if f.histogram != "" {
		return // the reader's own
	}
	err := f.check(cmd.Flags())
	d := size.Demand{}
	if err == nil {
		d, err = f.demand(cmd)
	}
	if err != nil {
		t.Errorf("%s: %v", c.at, err)
		return
	}
	s, err := f.request(d).Run()
	if err != nil || s.Test == "" {
		return // none is offered; that the page says why is another test's
	}
	argv, err := cmdline.Split(s.Test)
	if err != nil {
		t.Fatal(err)
	}
	plannable(t, shown{at: c.at, argv: argv[1:]})
}

// sizeAsShown is a size command with its flags read.
func sizeAsShown(t *testing.T, c shown) (*sizeFlags, *cobra.Command) {
	t.Helper()
	var f sizeFlags
	cmd := &cobra.Command{Use: "size"}
	f.bind(cmd.Flags())
	if err := cmd.ParseFlags(c.argv[1:]); err != nil {
		t.Fatalf("%s: %v", c.at, err)
	}
	return &f, cmd
}

// What cannot be decided is said where the plan is shown, with the flags that would do.
func TestDryRunSaysWhatItCannotDecide(t *testing.T) {
	var out, errs strings.Builder
	argv := []string{"compare", "plaintext", "--rate", "500/s", "--window", "1s", "--expect", `not slower("p99", "fasthttp")`, "--dry-run", "--cpus", "none"}
	if code := run(t.Context(), argv, &out, &errs); code != session.Mistake || !strings.Contains(errs.String(), "give --window 2.2s") {
		t.Errorf("an expectation that cannot be judged: exit code %d: %s", code, &errs)
	}
	errs.Reset()
	argv = []string{"compare", "demo.yaml", "--rate", "500/s", "--window", "1s", "--dry-run", "--cpus", "none"}
	t.Chdir(t.TempDir())
	if err := os.WriteFile("demo.yaml", []byte(demo.Text), 0o600); err != nil {
		t.Fatal(err)
	}
	if code := run(t.Context(), argv, &out, &errs); code != session.Done {
		t.Fatalf("exit code %d: %s", code, &errs)
	}
	if want := "open        p99 cannot be decided: a window holds 500 requests, it needs 1100; --window 2.2s --budget "; !strings.Contains(out.String(), want) {
		t.Errorf("got\n%s, want %s", &out, want)
	}
}
