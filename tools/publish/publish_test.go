package main

import (
	"bytes"
	"errors"
	"go/format"
	"go/parser"
	"go/token"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

func TestPublishAs(t *testing.T) {
	dir := repository(t)
	for _, tt := range []struct {
		name string
		test func(*testing.T, string)
	}{
		{"EveryFileNamesThePlace", everyFileNamesThePlace}, {"MovingIsPublishing", movingIsPublishing},
		{"ReleaseWritesTheChecksum", releaseWritesTheChecksum}, {"Mistakes", mistakes},
	} {
		gitIn(t, dir, "reset", "--quiet", "--hard", "unpublished")
		t.Run(tt.name, func(t *testing.T) { tt.test(t, dir) })
	}
}

// repository returns a git repository with one commit, unpublished: a copy of this one's files.
func repository(t *testing.T) string {
	t.Helper()
	root, err := filepath.Abs(filepath.Join("..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	entries, err := os.ReadDir(root)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		switch from, to := filepath.Join(root, e.Name()), filepath.Join(dir, e.Name()); {
		case slices.Contains([]string{".git", "bin", "dist", "schedlab-runs"}, e.Name()):
		case e.IsDir():
			err = os.CopyFS(to, os.DirFS(from))
		default:
			var text []byte
			if text, err = os.ReadFile(from); err == nil {
				err = os.WriteFile(to, text, 0o644)
			}
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	for name, value := range map[string]string{
		"GIT_CONFIG_GLOBAL": os.DevNull, "GIT_CONFIG_SYSTEM": os.DevNull, "GIT_AUTHOR_NAME": "test", "GIT_AUTHOR_EMAIL": "test@example.org",
		"GIT_COMMITTER_NAME": "test", "GIT_COMMITTER_EMAIL": "test@example.org",
	} {
		t.Setenv(name, value)
	}
	for _, args := range [][]string{{"init", "--quiet"}, {"add", "--all"}, {"commit", "--quiet", "--message", "all"}, {"tag", "unpublished"}} {
		gitIn(t, dir, args...)
	}
	return dir
}

// gitIn runs git, which must succeed, and returns its output without the line's end.
func gitIn(t *testing.T, dir string, args ...string) string {
	t.Helper()
	text, err := git(dir, args...)
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSuffix(text, "\n")
}

// publish calls publish-as, which must succeed.
func publish(t *testing.T, dir string, args ...string) {
	t.Helper()
	if err := run(dir, args, io.Discard); err != nil {
		t.Fatalf("publish-as %s: %v", strings.Join(args, " "), err)
	}
}

// readText reads a file of a repository.
func readText(t *testing.T, dir, file string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, file))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

const here, contact = "git.example.net/Team/schedlab", "security@example.net"

// everyFileNamesThePlace: after one commit every file names the new place and no file the old one, and each module finds its packages.
func everyFileNamesThePlace(t *testing.T, dir string) {
	old, err := readPlace(dir)
	if err != nil {
		t.Fatal(err)
	}
	publish(t, dir, here, "--contact", contact, "--version", "v0.1.0")
	if n := gitIn(t, dir, "rev-list", "--count", "HEAD"); n != "2" {
		t.Errorf("got %s commits, want the first and one of publish-as", n)
	}
	if changes := gitIn(t, dir, "status", "--porcelain"); changes != "" {
		t.Errorf("not committed:\n%s", changes)
	}
	stale := []string{until, old.Release, old.Page, old.Image, old.Action, old.Contact, "{pkg: " + old.Module + ",", " " + old.Module + "/internal/"}
	for _, file := range strings.Split(gitIn(t, dir, "ls-files"), "\n") {
		text := readText(t, dir, file)
		if filepath.Ext(file) == ".go" {
			checkGo(t, file, text)
			text = strings.ReplaceAll(text, strconv.Quote(until), "")
		}
		for _, s := range stale {
			if strings.Contains(text, s) {
				t.Errorf("%s still has %q", file, s)
			}
		}
	}
	for file, want := range map[string]string{
		"go.mod":                                      "module " + here + "\n",
		"tools/go.mod":                                "module " + here + "/tools\n",
		"loadtests/arms/go.mod":                       "replace " + here + " => ../..\n",
		".golangci.yml":                               "- (*" + here + "/internal/serving/model.Conn).Close\n",
		"docs/contributing/adding-a-mode.md":          "ok  \t" + here + "/internal/serving/model",
		"README.md":                                   "go install " + here + "/cmd/schedlab@latest",
		"SECURITY.md":                                 contact,
		"deploy/Dockerfile":                           `source="https://` + here + `"`,
		"deploy/k8s/base/serve.yaml":                  "image: git.example.net/team/schedlab:v0.1.0\n",
		"tools/cluster/test":                          "name: git.example.net/team/schedlab,",
		"tools/release/nfpm.yaml":                     "homepage: https://" + here + "\n",
		"deploy/github/action.yml":                    "default: https://" + here + "/releases/download/v0.1.0\n",
		"deploy/github/gate.yml":                      "uses: https://" + here + "/deploy/github@v0\n",
		"deploy/gitlab/gate.yml":                      "RELEASE: https://" + here + "/releases/download/v0.1.0\n",
		".github/ISSUE_TEMPLATE/config.yml":           "url: https://" + here + "/",
		"docs/contributing/releasing.md":              here,
		"deploy/k8s/overlays/pool/kustomization.yaml": "git.example.net/team/schedlab=",
	} {
		if text := readText(t, dir, file); !strings.Contains(text, want) {
			t.Errorf("%s lacks %q", file, want)
		}
	}
	for _, module := range []string{".", "tools", "loadtests/arms"} {
		cmd := exec.Command("go", "list", "-deps", "./...")
		cmd.Dir = filepath.Join(dir, module)
		cmd.Env = append(os.Environ(), "GOPROXY=off")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("go list in %s: %v\n%s", module, err, out)
		}
	}
}

// checkGo fails the test if a Go file imports a package of the unpublished module, or is not formatted.
func checkGo(t *testing.T, file, text string) {
	t.Helper()
	f, err := parser.ParseFile(token.NewFileSet(), file, text, parser.ImportsOnly)
	if err != nil {
		return // a sample in testdata
	}
	for _, i := range f.Imports {
		if strings.HasPrefix(i.Path.Value, `"schedlab/`) {
			t.Errorf("%s still imports %s", file, i.Path.Value)
		}
	}
	formatted, err := format.Source([]byte(text))
	if err == nil && !strings.Contains(file, "testdata") && !bytes.Equal(formatted, []byte(text)) {
		t.Errorf("%s is not formatted", file)
	}
}

// movingIsPublishing: a repository that moves has the same files as one that was published there at once.
func movingIsPublishing(t *testing.T, dir string) {
	publish(t, dir, "gitlab.com/team/go/schedlab", "--version", "v0.2.0")
	want := gitIn(t, dir, "rev-parse", "HEAD^{tree}")
	for file, text := range map[string]string{
		"deploy/gitlab/gate.yml":     "https://gitlab.com/team/go/schedlab/-/releases/v0.2.0/downloads\n",
		"deploy/k8s/base/serve.yaml": "image: registry.gitlab.com/team/go/schedlab:v0.2.0\n",
	} {
		if !strings.Contains(readText(t, dir, file), text) {
			t.Errorf("%s lacks %q", file, text)
		}
	}
	gitIn(t, dir, "reset", "--quiet", "--hard", "unpublished")
	publish(t, dir, "github.com/Team/schedlab")
	if text := readText(t, dir, "deploy/github/gate.yml"); !strings.Contains(text, "uses: Team/schedlab/deploy/github@v0\n") {
		t.Error("on GitHub gate.yml does not use the action by OWNER/schedlab")
	}
	publish(t, dir, "gitlab.com/team/go/schedlab", "--version", "v0.2.0")
	if got := gitIn(t, dir, "rev-parse", "HEAD^{tree}"); got != want {
		t.Errorf("these differ:\n%s", gitIn(t, dir, "diff", "--stat", want, got))
	}
}

// releaseWritesTheChecksum: the second commit has the checksum of the release's list of checksums, wherever a template needs it. It is
// made only for a list of that release.
func releaseWritesTheChecksum(t *testing.T, dir string) {
	publish(t, dir, here, "--contact", contact, "--version", "v0.1.0")
	mistake(t, dir, "build the release first", "--release")
	list := "0  schedlab_0.1.0_linux_amd64.tar.gz\n"
	keep := func(text string) {
		t.Helper()
		if err := errors.Join(os.MkdirAll(filepath.Join(dir, "dist"), 0o755), os.WriteFile(filepath.Join(dir, "dist", "checksums.txt"), []byte(text), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	keep(strings.ReplaceAll(list, "0.1.0", "0.1.0-4-g1234567"))
	mistake(t, dir, "has no schedlab_0.1.0_linux_amd64.tar.gz", "--release")
	keep(list)
	publish(t, dir, "--release")
	const sum = "417287dd68db177f723bd59fd035c4e1671b19b3e86e3f5f7dfd418fbfa699d3" // sha256sum of list
	for _, file := range []string{placeFile, "deploy/github/action.yml", "deploy/gitlab/gate.yml"} {
		if text := readText(t, dir, file); !strings.Contains(text, sum) || strings.Contains(text, unbuilt) {
			t.Errorf("%s has not the SHA-256 of dist/checksums.txt", file)
		}
	}
	changed := strings.Fields(gitIn(t, dir, "show", "--name-only", "--format=", "HEAD"))
	if want := []string{"deploy/github/action.yml", "deploy/gitlab/gate.yml", placeFile}; !slices.Equal(changed, want) {
		t.Errorf("the commit changes %q, want %q", changed, want)
	}
	mistake(t, dir, "has that place, version and checksum already", "--release")
	mistake(t, dir, "has that place, version and checksum already", here)
	// The next version is not built yet. All else stays.
	publish(t, dir, here, "--version", "v0.2.0")
	if text := readText(t, dir, "SECURITY.md"); !strings.Contains(text, contact) {
		t.Error("SECURITY.md has lost its contact")
	}
	if text := readText(t, dir, "deploy/gitlab/gate.yml"); !strings.Contains(text, unbuilt) {
		t.Error("deploy/gitlab/gate.yml has the last release's checksum")
	}
}

// mistake calls publish-as, which must refuse it as wrong usage, in these words, and change nothing.
func mistake(t *testing.T, dir, words string, args ...string) {
	t.Helper()
	err := run(dir, args, io.Discard)
	if usage := usageError(""); !errors.As(err, &usage) || !strings.Contains(err.Error(), words) {
		t.Errorf("publish-as %s: got %v, want a mistake about %q", strings.Join(args, " "), err, words)
	}
	if changes := gitIn(t, dir, "status", "--porcelain"); changes != "" {
		t.Errorf("publish-as %s changed\n%s", strings.Join(args, " "), changes)
	}
}

func mistakes(t *testing.T, dir string) {
	for _, m := range []struct {
		args  string
		words string
	}{
		{"", "want HOST/OWNER/schedlab"},
		{"schedlab", "is no place for a Go module"},
		{"github.com/schedlab", "is no place for a Go module"},
		{"https://github.com/team/schedlab", "is no place for a Go module"},
		{"github.com/team/other", "is no place for a Go module"},
		{"github.com/team/schedlab github.com/other/schedlab", "two places"},
		{"github.com/team/schedlab --release", "or --release alone"},
		{"--version v0.2.0 --release", "or --release alone"},
		{"github.com/team/schedlab --version 0.1.0", `"0.1.0" is no version of this module`},
		{"github.com/team/schedlab --version v2.0.0", `"v2.0.0" is no version of this module`},
		{"github.com/team/schedlab --forge bitbucket", "none of github, gitlab, gitea"},
		{"git.example.net/team/schedlab", "give --contact"},
		{"github.com/team/schedlab --chekcsums x", "flag provided but not defined"},
	} {
		mistake(t, dir, m.words, strings.Fields(m.args)...)
	}
	var help strings.Builder
	if err := run(dir, []string{"--help"}, &help); err != nil || !strings.Contains(help.String(), "Usage: tools/publish-as HOST/OWNER/schedlab") || !strings.Contains(help.String(), "-contact") {
		t.Errorf("--help: %v\n%s", err, help.String())
	}
	if err := os.WriteFile(filepath.Join(dir, "README.md"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := run(dir, []string{"github.com/team/schedlab"}, io.Discard); err == nil || !strings.Contains(err.Error(), "the work tree has changes") {
		t.Errorf("got %v, want a word on the changes", err)
	}
}
