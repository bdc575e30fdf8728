#!/usr/bin/env bash
# vegeta 12.13.0 loses the last target of a JSON file that has no line feed at its end.
#
# vegeta's JSON format has one target a line. Two targets, written as printf, jq -j or an editor without a final line feed
# leaves them: only the first is ever asked. With one target in such a file, nothing is attacked at all. One would expect both
# targets in turn, as with the line feed, and as vegeta's own http format does.
#
# Seen on 2026-11-28 (go1.26.8), paths asked by an attack of ten requests:
#   json, with a line feed:    5 /first 5 /last
#   json, without one:         10 /first
#   json, one target, without: nothing
#   http, without one:         5 /first 5 /last
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
cat >main.go <<'END'
package main

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"sync"
)

func main() {
	var mu sync.Mutex
	asked := map[string]int{}
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		asked[r.URL.Path]++
	}))
	defer server.Close()
	attack := func(what, format, targets string) {
		clear(asked)
		cmd := exec.Command("./vegeta", "attack", "-format="+format, "-rate=20", "-duration=500ms", "-output=results")
		cmd.Stdin = bytes.NewBufferString(targets)
		_ = cmd.Run()
		line := ""
		for _, path := range []string{"/first", "/last"} {
			if asked[path] > 0 {
				line += fmt.Sprintf(" %d %s", asked[path], path)
			}
		}
		if line == "" {
			line = " nothing"
		}
		fmt.Printf("%-26s%s\n", what, line)
	}
	first := `{"method":"GET","url":"` + server.URL + `/first"}`
	last := `{"method":"GET","url":"` + server.URL + `/last"}`
	attack("json, with a line feed:", "json", first+"\n"+last+"\n")
	attack("json, without one:", "json", first+"\n"+last)
	attack("json, one target, without:", "json", first)
	attack("http, without one:", "http", "GET "+server.URL+"/first\nGET "+server.URL+"/last")
}
END
go mod init finding >/dev/null 2>&1
GOBIN=$PWD go install github.com/tsenart/vegeta/v12@v12.13.0 2>/dev/null
go version
got=$(go run .)
echo "$got"
diff <(echo "$got") - <<'END'
json, with a line feed:    5 /first 5 /last
json, without one:         10 /first
json, one target, without: nothing
http, without one:         5 /first 5 /last
END
