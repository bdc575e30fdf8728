package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/mod/module"
	"golang.org/x/mod/zip"
)

// TestUsersInstallIt publishes a copy of this repository, which must build and pass go vet. Then a machine without
// anything of ours installs the command from a module proxy, and builds a program that imports recipes. Both
// compile all packages anew, so 'make release-check' runs it and no other target does.
func TestUsersInstallIt(t *testing.T) {
	if os.Getenv("SCHEDLAB_INSTALL") == "" {
		t.Skip("NOT RUN: it compiles every package twice; make release-check runs it")
	}
	dir := repository(t)
	publish(t, dir, here, "--contact", contact)
	for _, module := range []string{".", "tools", "loadtests/arms"} {
		succeed(t, filepath.Join(dir, module), nil, "go", "mod", "tidy", "-diff")
	}
	program := filepath.Join(t.TempDir(), "schedlab")
	succeed(t, dir, nil, "go", "build", "-trimpath", "-buildvcs=false", "-o", program, "./cmd/schedlab")
	succeed(t, dir, nil, "go", "vet", "-trimpath", "./...")

	const version = "v0.1.0"
	user := fromProxies(t, proxy(t, dir, version))
	home := t.TempDir()
	succeed(t, home, append(user, "GOBIN="+home), "go", "install", "-trimpath", here+"/cmd/schedlab@"+version)
	if got := succeed(t, home, nil, "./schedlab", "version"); !strings.HasPrefix(got, "schedlab "+version+" ") {
		t.Errorf("the installed command says it is %q, want %s", got, version)
	}
	if got, want := succeed(t, home, nil, "./schedlab", "modes"), succeed(t, home, nil, program, "modes"); got != want {
		t.Errorf("modes: the installed command prints\n%s\nthe built one\n%s", got, want)
	}

	app := t.TempDir()
	write(t, app, "go.mod", "module example.com/app\n\ngo 1.26.0\n\nrequire "+here+" "+version+"\n")
	write(t, app, "main.go", `package main

import (
	"context"
	"fmt"
	"net/http"

	"`+here+`/loadtests/recipes/nethttpgate"
	"`+here+`/loadtests/recipes/semaphore"
)

func main() {
	fmt.Println(nethttpgate.ListenAndServe(context.Background(), "", http.NotFoundHandler(), 0), semaphore.Accepted.Load())
}
`)
	succeed(t, app, user, "go", "build", "-trimpath", "-mod=mod", "-o", "app", ".")
	if got := succeed(t, app, nil, "./app"); got != "0 places; give 1 or more 0\n" {
		t.Errorf("the program with recipes printed %q", got)
	}
}

// succeed runs a program in dir, with more environment, and returns what it prints.
func succeed(t *testing.T, dir string, env []string, name string, args ...string) string {
	t.Helper()
	began := time.Now()
	cmd := exec.Command(name, args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), env...)
	text, err := cmd.Output()
	if err != nil {
		var failed *exec.ExitError
		if errors.As(err, &failed) {
			text = failed.Stderr
		}
		t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, text)
	}
	t.Logf("%s %s: %.0f s of CPU time in %.0f s", filepath.Base(name), strings.Join(args, " "),
		(cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()).Seconds(), time.Since(began).Seconds())
	return string(text)
}

// write writes a file.
func write(t *testing.T, dir, name, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// proxy returns the directory of a module proxy that has the last commit of a repository as a version of its module.
func proxy(t *testing.T, repository, version string) string {
	t.Helper()
	dir := t.TempDir()
	escaped, err := module.EscapePath(here)
	if err != nil {
		t.Fatal(err)
	}
	versions := filepath.Join(dir, escaped, "@v")
	if err := os.MkdirAll(versions, 0o755); err != nil {
		t.Fatal(err)
	}
	archive, err := os.Create(filepath.Join(versions, version+".zip"))
	if err == nil {
		err = zip.CreateFromVCS(archive, module.Version{Path: here, Version: version}, repository, "HEAD", "")
		err = errors.Join(err, archive.Close())
	}
	if err != nil {
		t.Fatal(err)
	}
	info, err := json.Marshal(struct {
		Version string
		Time    time.Time
	}{version, time.Now()})
	if err != nil {
		t.Fatal(err)
	}
	write(t, versions, version+".info", string(info))
	write(t, versions, version+".mod", readText(t, repository, "go.mod"))
	write(t, versions, "list", version+"\n")
	return dir
}

// fromProxies returns the environment of a machine that has no modules yet, and gets them from a proxy's directory and from what
// this machine has downloaded.
func fromProxies(t *testing.T, dir string) []string {
	t.Helper()
	downloaded := strings.TrimSpace(succeed(t, ".", nil, "go", "env", "GOMODCACHE")) + "/cache/download"
	// -modcacherw: the test has to remove them.
	return []string{fmt.Sprintf("GOPROXY=file://%s,file://%s", dir, downloaded), "GOSUMDB=off",
		"GOMODCACHE=" + t.TempDir(), "GOFLAGS=-modcacherw", "GOWORK=off"}
}
