package attack

import (
	"strings"
	"testing"
)

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
