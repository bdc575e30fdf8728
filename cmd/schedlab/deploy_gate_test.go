package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/google/jsonschema-go/jsonschema"
)

// A ciStep is a step of the GitHub action.
type ciStep struct {
	ID   string            `yaml:"id"`
	Uses string            `yaml:"uses"`
	With map[string]string `yaml:"with"`
	Env  map[string]string `yaml:"env"`
	Run  string            `yaml:"run"`
}

// actionStep returns the step of the GitHub action that has this id.
func actionStep(t *testing.T, id string) ciStep {
	t.Helper()
	var action struct {
		Runs struct {
			Steps []ciStep `yaml:"steps"`
		} `yaml:"runs"`
	}
	if err := yaml.Unmarshal([]byte(read(t, filepath.Join(moduleRoot(t), "deploy", "github", "action.yml"))), &action); err != nil {
		t.Fatal(err)
	}
	for _, s := range action.Runs.Steps {
		if s.ID == id {
			return s
		}
	}
	t.Fatalf("the action has no step %q", id)
	return ciStep{}
}

// run runs the step's script as GitHub's runner does, in dir, which is HOME and RUNNER_TEMP, too. Every variable that the
// step declares must be in env.
func (s ciStep) run(t *testing.T, dir string, env ...string) (string, error) {
	t.Helper()
	for name := range s.Env {
		if !strings.Contains("\n"+strings.Join(env, "\n"), "\n"+name+"=") {
			t.Errorf("step %s reads %s, which this test does not set", s.ID, name)
		}
	}
	return runScript(dir, s.Run, append(env, "RUNNER_TEMP="+dir, "GITHUB_OUTPUT="+filepath.Join(dir, "output"), "GITHUB_STEP_SUMMARY="+filepath.Join(dir, "summary"))...)
}

// runScript runs a script by bash in dir, with dir as HOME.
func runScript(dir, script string, env ...string) (string, error) {
	cmd := exec.Command("bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", script)
	cmd.Dir = dir
	cmd.Env = append(append(os.Environ(), "HOME="+dir), env...)
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// fakeSchedlab prints its arguments, and ends with the exit code in the file CODE of its working directory.
const fakeSchedlab = "#!/bin/sh\nprintf '%s|' \"$@\"\nexit $(cat CODE)\n"

// A fakeRelease serves the files of a release: archives with fakeSchedlab, and the list of their checksums.
type fakeRelease struct {
	*httptest.Server
	sum string // of the list, as publish-as --release writes it into templates

	mu     sync.Mutex
	files  map[string][]byte
	served []string // names of files, in the order of the requests
}

// fetched returns the names of the files that were asked for so far.
func (r *fakeRelease) fetched() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.served)
}

func newRelease(t *testing.T) *fakeRelease {
	t.Helper()
	r := &fakeRelease{files: map[string][]byte{}}
	var list bytes.Buffer
	for _, platform := range []string{"linux_amd64", "linux_arm64", "darwin_amd64"} {
		name := "schedlab_0.1.0_" + platform
		archive := packed(t, name, fakeSchedlab)
		r.files[name+".tar.gz"] = archive
		fmt.Fprintf(&list, "%x  %s.tar.gz\n", sha256.Sum256(archive), name)
	}
	r.files["checksums.txt"] = list.Bytes()
	r.sum = fmt.Sprintf("%x", sha256.Sum256(list.Bytes()))
	r.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		r.mu.Lock()
		defer r.mu.Unlock()
		name := strings.TrimPrefix(q.URL.Path, "/v0.1.0/")
		r.served = append(r.served, name)
		if text, ok := r.files[name]; ok {
			w.Write(text)
			return
		}
		http.NotFound(w, q)
	}))
	t.Cleanup(r.Close)
	return r
}

// packed returns an archive as a release has it: a directory with the program.
func packed(t *testing.T, name, program string) []byte {
	t.Helper()
	var archive bytes.Buffer
	zipped := gzip.NewWriter(&archive)
	files := tar.NewWriter(zipped)
	err := files.WriteHeader(&tar.Header{Name: name + "/schedlab", Mode: 0o755, Size: int64(len(program))})
	if err == nil {
		_, err = io.WriteString(files, program)
	}
	if err := errors.Join(err, files.Close(), zipped.Close()); err != nil {
		t.Fatal(err)
	}
	return archive.Bytes()
}

// spoil gives every archive of the release another program after its list of checksums was made.
func (r *fakeRelease) spoil(t *testing.T) {
	t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	for name := range r.files {
		if name != "checksums.txt" {
			r.files[name] = packed(t, strings.TrimSuffix(name, ".tar.gz"), "#!/bin/sh\necho not what was built\n")
		}
	}
}

// Both templates install the release that they name. They take nothing else: not another list of checksums, not a
// changed archive. What the cache has is not fetched again.
func TestTemplatesInstallAReleaseByChecksum(t *testing.T) {
	t.Parallel()
	need(t, "curl")
	github, gitlab := actionStep(t, "install"), gitlabJob(t)
	for _, tt := range []struct {
		name, program string
		install       func(t *testing.T, dir, release, sum string) (string, error)
	}{
		{"GitHub", "schedlab/schedlab", func(t *testing.T, dir, release, sum string) (string, error) {
			return github.run(t, dir, "RELEASE="+release, "CHECKSUMS="+sum)
		}},
		{"GitLab", ".schedlab/schedlab", func(_ *testing.T, dir, release, sum string) (string, error) {
			return runScript(dir, strings.Join(gitlab.BeforeScript, "\n"), "RELEASE="+release, "CHECKSUMS="+sum)
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			release, dir := newRelease(t), t.TempDir()
			url := release.URL + "/v0.1.0"
			installed := func(dir string) string { text, _ := os.ReadFile(filepath.Join(dir, tt.program)); return string(text) }
			if out, err := tt.install(t, dir, url, release.sum); err != nil || installed(dir) != fakeSchedlab {
				t.Fatalf("%v\n%s", err, out)
			}
			if all := release.fetched(); len(all) != 2 {
				t.Errorf("fetched %q, want the list and one archive", all)
			}
			if out, err := tt.install(t, dir, url, release.sum); err != nil || len(release.fetched()) != 2 {
				t.Errorf("with a cache it fetched %q: %v\n%s", release.fetched(), err, out)
			}
			for what, sum := range map[string]string{"another list": strings.Repeat("a", 64), "no release yet": strings.Repeat("0", 64)} {
				dir := t.TempDir()
				if out, err := tt.install(t, dir, url, sum); err == nil || !strings.Contains(out, "checksums.txt is not the list") || installed(dir) != "" {
					t.Errorf("%s: installed %q: %v\n%s", what, installed(dir), err, out)
				}
			}
			release.spoil(t)
			dir = t.TempDir()
			if out, err := tt.install(t, dir, url, release.sum); err == nil || installed(dir) != "" {
				t.Errorf("a changed archive: installed %q: %v\n%s", installed(dir), err, out)
			}
		})
	}
}

// The GitHub action passes on what schedlab gate says: as output, as summary, and as success or failure.
func TestGitHubActionPassesOnTheAnswer(t *testing.T) {
	t.Parallel()
	step := actionStep(t, "gate")
	for _, tt := range []struct {
		code, failOnOpen, answer string
		passes                   bool
	}{
		{"0", "false", "answer=fine\n", true},
		{"3", "false", "answer=worse\n", false},
		{"4", "false", "answer=open\n", true},
		{"4", "true", "answer=open\n", false},
		{"2", "false", "", false}, // wrong usage is no answer
	} {
		dir := t.TempDir()
		put(t, filepath.Join(dir, "CODE"), tt.code, 0o644)
		put(t, filepath.Join(dir, "schedlab", "schedlab"), fakeSchedlab, 0o755) // as the step before it installs it
		out, err := step.run(t, dir, "SCHEDLAB=", "BUILD=go build -o {out} .", "RUN={out} {addr}", "RATE=2000/s", "ASKED=/x y", "TARGETS=", "OLD_REF=v1", "TARGET=origin/main",
			"FLAGS=--metric p50 --allow p50=5%", "FAIL_ON_OPEN="+tt.failOnOpen)
		if (err == nil) != tt.passes {
			t.Errorf("exit code %s, fail-on-open %s: %v, want it to pass: %v\n%s", tt.code, tt.failOnOpen, err, tt.passes, out)
		}
		answer, _ := os.ReadFile(filepath.Join(dir, "output"))
		summary, _ := os.ReadFile(filepath.Join(dir, "summary"))
		if string(answer) != tt.answer {
			t.Errorf("exit code %s: output %q, want %q", tt.code, answer, tt.answer)
		}
		want := "gate|--old-ref|v1|--build|go build -o {out} .|--run|{out} {addr}|--path|/x y|--rate|2000/s|--metric|p50|--allow|p50=5%|--output|markdown|"
		if tt.answer != "" && string(summary) != want {
			t.Errorf("exit code %s: summary %q, want %q", tt.code, summary, want)
		}
	}
	// A file of requests takes the place of the path.
	dir := t.TempDir()
	put(t, filepath.Join(dir, "CODE"), "0", 0o644)
	put(t, filepath.Join(dir, "schedlab", "schedlab"), fakeSchedlab, 0o755)
	out, err := step.run(t, dir, "SCHEDLAB=", "BUILD=b", "RUN=r", "RATE=", "ASKED=/", "TARGETS=my requests.txt", "OLD_REF=v1", "TARGET=origin/main", "FLAGS=", "FAIL_ON_OPEN=false")
	if got, want := read(t, filepath.Join(dir, "gate.md")), "gate|--old-ref|v1|--build|b|--run|r|--targets|my requests.txt|--output|markdown|"; err != nil || got != want {
		t.Errorf("with targets: %v, %q, want %q\n%s", err, got, want, out)
	}
}

// Without old-ref the action compares with the commit at which the branch left its target, or with the target as it was merged
// into HEAD. Without a rate it leaves the choice to schedlab gate.
func TestGitHubActionComparesWithTheMergeBase(t *testing.T) {
	t.Parallel()
	step, dir := actionStep(t, "gate"), t.TempDir()
	git := func(script string) string {
		t.Helper()
		out, err := runScript(dir, script, "GIT_CONFIG_GLOBAL=/dev/null", "GIT_AUTHOR_NAME=t", "GIT_AUTHOR_EMAIL=t@example.org", "GIT_COMMITTER_NAME=t",
			"GIT_COMMITTER_EMAIL=t@example.org")
		if err != nil {
			t.Fatalf("%s: %v\n%s", script, err, out)
		}
		return strings.TrimSpace(out)
	}
	commit := func(name string) string {
		return git("git commit -q --allow-empty -m " + name + " && git rev-parse HEAD")
	}
	compared := func(target string) (string, error) {
		t.Helper()
		out, err := step.run(t, dir, "SCHEDLAB=", "BUILD=go build -o {out} .", "RUN={out} {addr}", "RATE=", "ASKED=/", "TARGETS=", "OLD_REF=", "TARGET="+target, "FLAGS=", "FAIL_ON_OPEN=false")
		if err != nil {
			return out, err
		}
		return read(t, filepath.Join(dir, "gate.md")), nil
	}
	expect := func(what, base string) {
		t.Helper()
		got, err := compared("origin/main")
		if want := "gate|--old-ref|" + base + "|--build|go build -o {out} .|--run|{out} {addr}|--path|/|--output|markdown|"; err != nil || got != want {
			t.Errorf("%s: %v, %q, want %q", what, err, got, want)
		}
	}
	put(t, filepath.Join(dir, "CODE"), "0", 0o644)
	put(t, filepath.Join(dir, "schedlab", "schedlab"), fakeSchedlab, 0o755)
	git("git init -q -b main")
	base := commit("base")
	git("git checkout -q -b change")
	commit("change")
	git("git checkout -q main")
	later := commit("later")
	git("git update-ref refs/remotes/origin/main main && git checkout -q change")
	expect("a branch", base)
	git("git merge -q --no-edit main") // what actions/checkout takes for a pull request
	expect("a branch merged with its target", later)
	if out, err := compared("origin/none"); err == nil || !strings.Contains(out, "fetch-depth: 0") {
		t.Errorf("without its target: %v\n%s", err, out)
	}
}

// Where no release is hosted, both templates build schedlab from its source.
func TestTemplatesBuildFromSource(t *testing.T) {
	t.Parallel()
	source := t.TempDir()
	put(t, filepath.Join(source, "go.mod"), "module schedlab\n", 0o644)
	put(t, filepath.Join(source, "cmd", "schedlab", "main.go"), "package main\n\nfunc main() { println(`built`) }\n", 0o644)
	put(t, filepath.Join(source, "deploy", "github", "action.yml"), "", 0o644)
	if out, err := runScript(source, "git init -q && git add . && git -c user.name=t -c user.email=t@example.org commit -qm source"); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	// HOME of a script is an empty folder, in which Go would build its cache anew.
	caches := strings.Split(output(t, exec.Command("go", "env", "GOCACHE", "GOMODCACHE")), "\n")
	env := []string{"GOCACHE=" + caches[0], "GOMODCACHE=" + caches[1], "GITHUB_ACTION_PATH=" + filepath.Join(source, "deploy", "github"), "SOURCE=" + source}
	github, gitlab := t.TempDir(), t.TempDir()
	if out, err := actionStep(t, "build").run(t, github, env...); err != nil {
		t.Errorf("GitHub: %v\n%s", err, out)
	}
	if out, err := runScript(gitlab, strings.Join(gitlabJob(t).BeforeScript, "\n"), env...); err != nil {
		t.Errorf("GitLab: %v\n%s", err, out)
	}
	for _, program := range []string{filepath.Join(github, "schedlab", "schedlab"), filepath.Join(gitlab, ".schedlab", "schedlab")} {
		if out, err := exec.Command(program).CombinedOutput(); err != nil || string(out) != "built\n" {
			t.Errorf("%s: %v, %q", program, err, out)
		}
	}
}

// put writes a file, and makes its directory.
func put(t *testing.T, file, text string, mode os.FileMode) {
	t.Helper()
	err := os.MkdirAll(filepath.Dir(file), 0o755)
	if err == nil {
		err = os.WriteFile(file, []byte(text), mode)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// A fakeForge keeps the comments of one pull request, GitHub's or GitLab's, as their APIs show them.
type fakeForge struct {
	*httptest.Server

	mu       sync.Mutex
	comments []forgeComment
	asked    []string // method and path of each request
}

// A forgeComment is one comment. GitHub says its author in user, GitLab in author.
type forgeComment struct {
	ID   int    `json:"id"`
	Body string `json:"body"`
	User struct {
		Type string `json:"type"`
	} `json:"user"`
	Author struct {
		ID int `json:"id"`
	} `json:"author"`
}

// bot is the number of the user whose token a GitLab job has.
const bot = 7

// add adds a comment by a person or by the job's own user.
func (f *fakeForge) add(body string, person bool) {
	c := forgeComment{ID: 1000 + len(f.comments), Body: body}
	c.User.Type, c.Author.ID = "Bot", bot
	if person {
		c.User.Type, c.Author.ID = "User", 1
	}
	f.comments = append(f.comments, c)
}

// newForge returns a forge that takes only requests with this header.
func newForge(t *testing.T, header, value string) *fakeForge {
	t.Helper()
	f := &fakeForge{}
	body := func(q *http.Request) string {
		if q.Header.Get("Content-Type") == "application/json" {
			var c forgeComment
			_ = json.NewDecoder(q.Body).Decode(&c)
			return c.Body
		}
		return q.FormValue("body")
	}
	list := func(w http.ResponseWriter, q *http.Request) {
		page, _ := strconv.Atoi(q.FormValue("page"))
		n, _ := strconv.Atoi(q.FormValue("per_page"))
		from := min((page-1)*n, len(f.comments))
		_ = json.NewEncoder(w).Encode(append([]forgeComment{}, f.comments[from:min(from+n, len(f.comments))]...))
	}
	create := func(w http.ResponseWriter, q *http.Request) {
		f.add(body(q), false)
		w.WriteHeader(http.StatusCreated)
		_ = json.NewEncoder(w).Encode(f.comments[len(f.comments)-1])
	}
	change := func(w http.ResponseWriter, q *http.Request) {
		for i := range f.comments {
			if strconv.Itoa(f.comments[i].ID) == q.PathValue("id") {
				f.comments[i].Body = body(q)
				return
			}
		}
		http.NotFound(w, q)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /repos/team/app/issues/12/comments", list)
	mux.HandleFunc("POST /repos/team/app/issues/12/comments", create)
	mux.HandleFunc("PATCH /repos/team/app/issues/comments/{id}", change)
	mux.HandleFunc("GET /projects/5/merge_requests/12/notes", list)
	mux.HandleFunc("POST /projects/5/merge_requests/12/notes", create)
	mux.HandleFunc("PUT /projects/5/merge_requests/12/notes/{id}", change)
	mux.HandleFunc("GET /user", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintf(w, `{"id": %d}`, bot) })
	f.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.asked = append(f.asked, q.Method+" "+q.URL.Path)
		if q.Header.Get(header) != value {
			http.Error(w, "who are you?", http.StatusUnauthorized)
			return
		}
		mux.ServeHTTP(w, q)
	}))
	t.Cleanup(f.Close)
	return f
}

// Both templates write one comment, and change that one with the next answer. They leave others' alone, and are quiet where
// they have no right to write.
func TestTemplatesWriteOneComment(t *testing.T) {
	t.Parallel()
	need(t, "jq")
	need(t, "curl")
	github, gitlab := actionStep(t, "comment"), gitlabJob(t)
	for _, tt := range []struct {
		name, header, value, marker string
		comment                     func(t *testing.T, dir, forge string, fork bool) (string, error)
	}{
		{"GitHub", "Authorization", "Bearer secret", "<!-- schedlab gate: ci, gate, 0 -->\n", func(t *testing.T, dir, forge string, fork bool) (string, error) {
			head := "team/app"
			if fork {
				head = "stranger/app"
			}
			return github.run(t, dir, "GH_TOKEN=secret", "PULL=12", "HEAD_REPOSITORY="+head, "GITHUB_REPOSITORY=team/app", "GITHUB_API_URL="+forge,
				"GITHUB_WORKFLOW=ci", "GITHUB_JOB=gate", "INDEX=0")
		}},
		{"GitLab", "Private-Token", "secret", "<!-- schedlab gate: gate -->\n", func(_ *testing.T, dir, forge string, fork bool) (string, error) {
			token := "secret"
			if fork {
				token = ""
			}
			return runScript(dir, strings.Join(gitlab.AfterScript, "\n"), "GATE_TOKEN="+token, "CI_API_V4_URL="+forge, "CI_PROJECT_ID=5",
				"CI_MERGE_REQUEST_IID=12", "CI_JOB_NAME=gate")
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			dir, forge := t.TempDir(), newForge(t, tt.header, tt.value)
			forge.add(tt.marker+"a person quotes the answer", true)
			for range 120 { // more than a page
				forge.add("another bot's comment", false)
			}
			others := len(forge.comments)
			say := func(text string, fork bool) {
				t.Helper()
				put(t, filepath.Join(dir, "gate.md"), text, 0o644)
				if out, err := tt.comment(t, dir, forge.URL, fork); err != nil {
					t.Fatalf("%v\n%s", err, out)
				}
			}
			say("from a fork\n", true)
			if len(forge.asked) != 0 {
				t.Errorf("for a fork it asked %q", forge.asked)
			}
			for _, text := range []string{"**fine**: \"50 %\" & so on\n", "**worse** <b>\n"} {
				say(text, false)
				if n := len(forge.comments); n != others+1 {
					t.Fatalf("got %d new comments, want one", n-others)
				}
				if got := forge.comments[others].Body; got != tt.marker+text {
					t.Errorf("got the comment %q, want %q", got, tt.marker+text)
				}
			}
			for i, c := range forge.comments[:others] {
				if want := "another bot's comment"; i > 0 && c.Body != want || i == 0 && !strings.Contains(c.Body, "a person quotes") {
					t.Errorf("comment %d is now %q", i, c.Body)
				}
			}
		})
	}
}

// A gitlabTemplate is the job of deploy/gitlab/gate.yml.
type gitlabTemplate struct {
	BeforeScript []string `yaml:"before_script"`
	Script       []string `yaml:"script"`
	AfterScript  []string `yaml:"after_script"`
}

func gitlabJob(t *testing.T) gitlabTemplate {
	t.Helper()
	var file struct {
		Gate gitlabTemplate `yaml:"gate"`
	}
	if err := yaml.Unmarshal([]byte(read(t, filepath.Join(moduleRoot(t), "deploy", "gitlab", "gate.yml"))), &file); err != nil {
		t.Fatal(err)
	}
	return file.Gate
}

// The GitLab job ends with the exit code of schedlab gate, and keeps what it said.
func TestGitLabJobPassesOnTheAnswer(t *testing.T) {
	t.Parallel()
	job := gitlabJob(t)
	for _, tt := range []struct{ code, merged, compared string }{
		{"0", "", "base"}, {"3", "", "base"}, {"4", "", "base"},
		{"0", "target", "target"}, // a pipeline for merged results
	} {
		dir := t.TempDir()
		put(t, filepath.Join(dir, "CODE"), tt.code, 0o644)
		put(t, filepath.Join(dir, ".schedlab", "schedlab"), fakeSchedlab, 0o755)
		out, err := runScript(dir, strings.Join(job.Script, "\n"), "CI_MERGE_REQUEST_DIFF_BASE_SHA=base", "CI_MERGE_REQUEST_TARGET_BRANCH_SHA="+tt.merged)
		if (err == nil) != (tt.code == "0") || err != nil && err.Error() != "exit status "+tt.code {
			t.Errorf("gate ended with %s, the job with %v\n%s", tt.code, err, out)
		}
		want := "gate|--old-ref|" + tt.compared + "|--build|go build -o {out} ./cmd/app|--run|{out} -listen {addr}|--path|/|--output|markdown|"
		if got := read(t, filepath.Join(dir, "gate.md")); got != want {
			t.Errorf("gate.md: got %q, want %q", got, want)
		}
	}
}

// The GitLab job is as GitLab's own schema of .gitlab-ci.yml wants it (testdata/gitlab, as check-jsonschema 0.39 ships it). make lint runs
// actionlint on the GitHub workflow.
func TestGitLabJobFitsTheSchema(t *testing.T) {
	t.Parallel()
	var schema jsonschema.Schema
	if err := json.Unmarshal([]byte(read(t, filepath.Join("testdata", "gitlab", "ci.schema.json"))), &schema); err != nil {
		t.Fatal(err)
	}
	resolved, err := schema.Resolve(nil)
	if err != nil {
		t.Fatal(err)
	}
	job := read(t, filepath.Join(moduleRoot(t), "deploy", "gitlab", "gate.yml"))
	for text, fits := range map[string]bool{job: true, strings.Replace(job, "allow_failure:", "allowed_failure:", 1): false} {
		var file any
		if err := yaml.Unmarshal([]byte(text), &file); err != nil {
			t.Fatal(err)
		}
		if err := resolved.Validate(file); (err == nil) != fits {
			t.Errorf("got %v, want it to fit: %v, for\n%s", err, fits, text)
		}
	}
}
