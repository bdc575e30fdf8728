package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strconv"
	"testing"
	"time"

	"schedlab/internal/capabilities/session"
	"schedlab/internal/measuring/report"
)

// A record may come from anybody. Whatever number it holds, judging it and writing it in every format ends
// soon, with a report or an error, and never with a panic.
func TestNumbersOfAForeignRecord(t *testing.T) {
	t.Parallel()
	sound := filepath.Join("testdata", "record")
	if err := rendered(sound); err != nil {
		t.Fatal(err)
	}
	odd := []json.Number{"-1", "0", "3", "1000000000", "4611686018427387904", "1e300", "-1e300"}
	for _, file := range []string{"run.json", "trials/002-pool-workers-4/trial.json"} {
		dir := t.TempDir()
		if err := os.CopyFS(dir, os.DirFS(sound)); err != nil {
			t.Fatal(err)
		}
		text, err := os.ReadFile(filepath.Join(sound, file))
		if err != nil {
			t.Fatal(err)
		}
		var document any
		exact := json.NewDecoder(bytes.NewReader(text))
		exact.UseNumber()
		if err := exact.Decode(&document); err != nil {
			t.Fatal(err)
		}
		places := numbersIn("", document)
		if len(places) < 40 {
			t.Fatalf("%s has %d numbers", file, len(places))
		}
		for _, p := range places {
			for _, n := range odd {
				altered, err := json.Marshal(p.with(n))
				if err == nil {
					err = os.WriteFile(filepath.Join(dir, file), altered, 0o600)
				}
				if err != nil {
					t.Fatal(err)
				}
				ended := make(chan error, 1)
				go func() { ended <- rendered(dir) }()
				select {
				case err := <-ended:
					if broken, isPanic := err.(panicked); isPanic {
						t.Errorf("%s: %s = %s: %v", file, p.path, n, broken)
					}
				case <-time.After(time.Minute):
					t.Fatalf("%s: %s = %s: not done after a minute", file, p.path, n)
				}
			}
		}
	}
}

// panicked is the error for a panic: its value and its stack.
type panicked string

func (p panicked) Error() string { return string(p) }

// rendered judges a record and writes the result in every format.
func rendered(path string) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = panicked(fmt.Sprintf("%v\n%s", p, debug.Stack()))
		}
	}()
	result, err := session.Again(path, "", false)
	if err != nil {
		return err
	}
	if err := report.Brief(io.Discard, result, report.TextOptions{}); err != nil {
		return err
	}
	for _, format := range report.Formats().Names() {
		if err := report.Formats().Render(io.Discard, format, result); err != nil {
			return err
		}
	}
	return nil
}

// A place is a number in a JSON document. with returns the document with another number there.
type place struct {
	path string
	with func(json.Number) any
}

// numbersIn returns the places of the numbers in a document. Of a list it takes the first three elements.
func numbersIn(path string, document any) (all []place) {
	switch v := document.(type) {
	case json.Number:
		return []place{{path, func(n json.Number) any { return n }}}
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			for _, p := range numbersIn(path+"."+key, v[key]) {
				all = append(all, place{p.path, func(n json.Number) any {
					other := maps.Clone(v)
					other[key] = p.with(n)
					return other
				}})
			}
		}
	case []any:
		for i := range min(len(v), 3) {
			for _, p := range numbersIn(path+"."+strconv.Itoa(i), v[i]) {
				all = append(all, place{p.path, func(n json.Number) any {
					other := slices.Clone(v)
					other[i] = p.with(n)
					return other
				}})
			}
		}
	}
	return all
}
