package attack

import (
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
)

// A header of the flags takes the place of a file's, however the file spells its name; the others keep their spelling.
func TestHeadersOverrideThoseOfAFile(t *testing.T) {
	t.Parallel()
	const file = "GET http://one.example/\nx-token: old\nX-TOKEN: older\nx-kept: a\n\nGET http://one.example/b\n"
	all, err := Asked("", "-", "GET", "", []string{"X-Token: new", "x-token: newer"}, strings.NewReader(file))
	if err != nil || len(all) != 2 {
		t.Fatalf("%d targets, %v", len(all), err)
	}
	for i, want := range []http.Header{{"X-Token": {"new", "newer"}, "x-kept": {"a"}}, {"X-Token": {"new", "newer"}}} {
		if got := all[i].Header; !maps.EqualFunc(got, want, slices.Equal[[]string]) {
			t.Errorf("target %d: got %v, want %v", i, got, want)
		}
	}
}

// A file's requests go to the servers that it names, or all to the server of --target, which has no path.
func TestTargetsOfAFileGoToOneServer(t *testing.T) {
	t.Parallel()
	const file = "GET http://one.example/a?b=1\nHost: x\n\nGET http://two.example/c\n"
	for server, want := range map[string][]string{
		"":                       {"http://one.example/a?b=1", "http://two.example/c"},
		"http://127.0.0.1:3101":  {"http://127.0.0.1:3101/a?b=1", "http://127.0.0.1:3101/c"},
		"https://127.0.0.1:3101": {"https://127.0.0.1:3101/a?b=1", "https://127.0.0.1:3101/c"},
	} {
		all, err := Asked(server, "-", "GET", "", nil, strings.NewReader(file))
		if err != nil || len(all) != len(want) {
			t.Errorf("%s: got %d targets (%v)", server, len(all), err)
			continue
		}
		for i, target := range all {
			if target.URL != want[i] {
				t.Errorf("%s: got %s, want %s", server, target.URL, want[i])
			}
		}
	}
	if _, err := Asked("http://127.0.0.1:3101/path", "-", "GET", "", nil, strings.NewReader(file)); err == nil {
		t.Error("a server with a path is no mistake")
	}
}
