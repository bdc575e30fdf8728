package main

import (
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"schedlab/internal/capabilities/session"
)

// codeOf returns the blocks of code of a page in a language, in their order.
func codeOf(page, language string) (blocks []string) {
	for _, m := range regexp.MustCompile("(?s)```"+language+"\n(.*?)```").FindAllStringSubmatch(page, -1) {
		blocks = append(blocks, m[1])
	}
	return blocks
}

// What docs/guide/my-service.md tells a stranger to type finds the slower build, and leaves the repository as it was.
func TestMyServicePageFindsTheSlowerBuild(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile(filepath.Join(moduleRoot(t), "docs", "guide", "my-service.md"))
	if err != nil {
		t.Fatal(err)
	}
	program, commands := codeOf(string(page), "go"), codeOf(string(page), "sh")
	if len(program) != 1 || len(commands) != 4 {
		t.Fatalf("the page has %d programs and %d commands: want the service, and the commands that make it, ask, post and profile", len(program), len(commands))
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "main.go"), []byte(program[0]), 0o600); err != nil {
		t.Fatal(err)
	}
	config := filepath.Join(t.TempDir(), "gitconfig")
	if err := os.WriteFile(config, []byte("[user]\n\tname = t\n\temail = t@example.org\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	shell := func(script string) *exec.Cmd {
		cmd := exec.Command("bash", "-euc", script)
		cmd.Dir, cmd.Env = dir, append(os.Environ(), "GIT_CONFIG_GLOBAL="+config)
		return cmd
	}
	output(t, shell(commands[0]))
	ask := strings.TrimSpace(commands[1])
	if profiled := strings.TrimSpace(commands[3]); profiled != ask+" --profiles" {
		t.Errorf("the page profiles with %q: want the same command with --profiles", profiled)
	}
	cmd := shell(ask + " --progress none")
	var stderr strings.Builder
	cmd.Stderr = &stderr
	text, err := cmd.Output()
	exit, failed := errors.AsType[*exec.ExitError](err)
	if !failed || exit.ExitCode() != session.NotKept || !strings.HasPrefix(string(text), "gate: new is worse than old: ") {
		t.Errorf("%v, want exit code %d and that new is worse:\n%s%s", err, session.NotKept, text, &stderr)
	}
	// The screen on the page has the rows that the command prints.
	var rows []string
	for line := range strings.Lines(string(text)) {
		if first, _, _ := strings.Cut(line, " "); slices.Contains([]string{"p50", "p90", "p99", "goodput", "CPU/request", "memory", "capacity"}, first) {
			rows = append(rows, first)
		}
	}
	for _, row := range rows {
		if !strings.Contains(string(page), "\n"+row+" ") {
			t.Errorf("the command prints a row %q, and the page's screen has none", row)
		}
	}
	if len(rows) < 6 {
		t.Errorf("the command prints the rows %q only:\n%s", rows, text)
	}
	if left := output(t, shell("git worktree list")); strings.Contains(left, "schedlab-gate") {
		t.Errorf("left behind: %s", left)
	}
}

// The page's file of requests sends a POST with the body of the file beside it, and a GET, and the page's command takes it.
func TestMyServicePagePosts(t *testing.T) {
	t.Parallel()
	page := read(t, filepath.Join(moduleRoot(t), "docs", "guide", "my-service.md"))
	files, ask, _ := strings.Cut(codeOf(page, "sh")[2], "schedlab gate ")
	if !strings.Contains(ask, "--targets requests.txt") {
		t.Fatalf("the page asks by %q: want its file of requests", ask)
	}
	var mu sync.Mutex
	got := map[string]int{}
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		mu.Lock()
		defer mu.Unlock()
		got[r.Method+" "+r.URL.String()+" "+r.Header.Get("Content-Type")+" "+strings.TrimSpace(string(body))]++
	}))
	defer server.Close()
	dir := t.TempDir()
	if out, err := runScript(dir, files); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	requests := filepath.Join(dir, "requests.txt")
	put(t, requests, strings.ReplaceAll(read(t, requests), "http://any", server.URL), 0o644)
	attack := exec.Command("schedlab", "attack", "--targets", "requests.txt", "--rate", "100/s", "--duration", "200ms")
	attack.Dir = dir
	output(t, attack)
	mu.Lock()
	defer mu.Unlock()
	if got[`POST /price application/json {"items": [1, 2]}`] == 0 || got["GET /price?item=3  "] == 0 || len(got) != 2 {
		t.Errorf("got the requests %v", got)
	}
}

// The file that docs/guide/profiles.md adds to a service gives it pprof at an address of its own, and metrics that can be read.
func TestProfilesPageAddsPprof(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	put(t, filepath.Join(dir, "go.mod"), "module example.com/price\n", 0o644)
	put(t, filepath.Join(dir, "main.go"), "package main\n\nfunc main() { select {} }\n", 0o644)
	put(t, filepath.Join(dir, "debug.go"), codeOf(read(t, filepath.Join(moduleRoot(t), "docs", "guide", "profiles.md")), "go")[0], 0o644)
	build := exec.Command("go", "build", "-o", "service", ".")
	build.Dir = dir
	output(t, build)
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := free.Addr().String()
	free.Close()
	service := exec.Command(filepath.Join(dir, "service"))
	service.Env = append(os.Environ(), "DEBUG_ADDR="+addr)
	if err := service.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _, _ = service.Process.Kill(), service.Wait() }()
	for path, want := range map[string]string{"/debug/pprof/goroutine?debug=1": "goroutine profile", "/metrics": ""} {
		eventually(t, path, func() (bool, string) {
			reply, err := http.Get("http://" + addr + path)
			if err != nil {
				return false, err.Error()
			}
			defer reply.Body.Close()
			body, _ := io.ReadAll(reply.Body)
			return reply.StatusCode == http.StatusOK && strings.HasPrefix(string(body), want), reply.Status + ": " + string(body)
		})
	}
}
