package cmdline

import (
	"slices"
	"strings"
	"testing"
)

func TestSplitCommand(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		text string
		want []string
	}{
		{" a  b\tc\n", []string{"a", "b", "c"}},
		{`a 'b c' "d e"f`, []string{"a", "b c", "d ef"}},
		{`a\ b '\' "\"" ''`, []string{"a b", `\`, `"`, ""}},
		{`"$(a)" "d\e" ~ # *`, []string{"$(a)", `d\e`, "~", "#", "*"}},
	} {
		got, err := Split(c.text)
		if err != nil || !slices.Equal(got, c.want) {
			t.Errorf("%q: got %q, %v, want %q", c.text, got, err, c.want)
		}
	}
	for text, want := range map[string]string{
		"": "empty command", " \n": "empty command", "'a": `unfinished quote in "'a"`, `"a'`: `unfinished quote in "\"a'"`, `a\`: `unfinished quote in "a\\"`,
	} {
		if _, err := Split(text); err == nil || err.Error() != want {
			t.Errorf("%q: got %v, want %s", text, err, want)
		}
	}
}

func TestQuote(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{"a/b-1": "a/b-1", "": "''", "it's": `'it'\''s'`, "a b": "'a b'", "{addr}": "{addr}", "{a,b}": "'{a,b}'"} {
		if got := Quote(in); got != want {
			t.Errorf("Quote(%q) = %s, want %s", in, got, want)
		}
	}
}

// What Join writes, Split reads.
func FuzzSplitCommand(f *testing.F) {
	f.Add(`a 'b c' "d\e" f\ g`)
	f.Add(`sh -c 'exec ./server --addr {addr}'`)
	f.Fuzz(func(t *testing.T, text string) {
		words, err := Split(text)
		if err != nil {
			if strings.Contains(err.Error(), "\n") {
				t.Errorf("%q is not one line", err)
			}
			return
		}
		again, err := Split(Join(words))
		if err != nil || !slices.Equal(again, words) {
			t.Errorf("%q: split %q, joined %q, split again %q, %v", text, words, Join(words), again, err)
		}
	})
}

func TestMetricsAt(t *testing.T) {
	t.Parallel()
	for where, want := range map[string]string{
		"/m": "http://127.0.0.1:1/m", ":9100/m": "http://127.0.0.1:9100/m", "http://{admin}/m": "http://127.0.0.1:2/m",
		"http://{host}:7/m?at={addr}": "http://127.0.0.1:7/m?at=127.0.0.1:1", "http://h/m": "http://h/m",
	} {
		if got := MetricsAt(where, "127.0.0.1:1", "127.0.0.1:2"); got != want {
			t.Errorf("%s: got %s, want %s", where, got, want)
		}
	}
}

// The variables before a command stay assignments: their names are not quoted.
func TestVariables(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]int{
		"A=1 B= ./server C=2": 2,
		"./server A=1":        0,
		"A=1":                 1, // all of them
		"'1A=x' ./server":     0,
	} {
		words, err := Split(line)
		if err != nil {
			t.Fatal(err)
		}
		variables, command := Variables(words)
		if !slices.Equal(variables, words[:want]) || !slices.Equal(command, words[want:]) {
			t.Errorf("%s: got variables %q before %q, want %d", line, variables, command, want)
		}
	}
}

func TestJoin(t *testing.T) {
	t.Parallel()
	for want, argv := range map[string][]string{
		`A= B='a b' ./server --addr {addr} ''`: {"A=", "B=a b", "./server", "--addr", "{addr}", ""},
		`./server 'A=a b'`:                     {"./server", "A=a b"},
	} {
		if got := Join(argv); got != want {
			t.Errorf("%q: got %s, want %s", argv, got, want)
		}
	}
}
