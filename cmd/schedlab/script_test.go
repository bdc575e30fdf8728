package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/rogpeppe/go-internal/testscript"

	"schedlab/internal/shared/record"
)

// TestScripts runs the command line as people do: testdata/script/*.txtar, with
// these commands beside testscript's own, and the conditions one-cpu and two-cpus: so many
// are there for this process.
//
//	build FILE                    FILE is the program that users build; "schedlab" here is that of the tests
//	exits CODE[,CODE] COMMAND...  run to the end; the exit code is one of those
//	start NAME COMMAND...         run in the background, with the environment at the script's start
//	await NAME REGEXP [VAR...]    until NAME's output matches; set VARs to the groups
//	awaitfile NAME GLOB           until a file matches, while NAME runs
//	signal SIGNAL NAME            TERM, INT, HUP or KILL
//	ended NAME CODE               wait for NAME's end; its output is stdout and stderr
//	get URL                       stdout is the status and the body of a GET
//	result FILE ARM...            FILE is a result of this schema, of those arms
//	trials RUN LEAST MOST         RUN holds that many whole trials, with readings of their connections that add up
//	tmpfs DIR SIZE                mount a small file system there
//	fill FILE                     write FILE until the file system is full
func TestScripts(t *testing.T) {
	t.Parallel()
	testscript.Run(t, testscript.Params{
		Dir:                "testdata/script",
		RequireUniqueNames: true,
		Setup: func(env *testscript.Env) error {
			env.Values[started{}] = map[string]*background{}
			env.Setenv(raceOptions, endAtOnce)
			env.Values[environment{}] = slices.Clone(env.Vars)
			env.Values[tester{}] = env.T()
			return nil
		},
		Condition: func(cond string) (bool, error) {
			n := map[string]int{"one-cpu": 1, "two-cpus": 2}[cond]
			if n == 0 {
				return false, fmt.Errorf("unknown condition %q", cond)
			}
			return runtime.NumCPU() == n, nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"build":     scriptBuild,
			"exits":     scriptExits,
			"start":     scriptStart,
			"await":     scriptAwait,
			"awaitfile": scriptAwaitFile,
			"signal":    scriptSignal,
			"ended":     scriptEnded,
			"get":       scriptGet,
			"result":    scriptResult,
			"trials":    scriptTrials,
			"tmpfs":     scriptTmpfs,
			"fill":      scriptFill,
		},
	})
}

// args checks how many a command has: least to most, or more if most is below.
func args(ts *testscript.TestScript, neg bool, got []string, least, most int) {
	if neg || len(got) < least || most >= least && len(got) > most {
		ts.Fatalf("bad arguments %q; see TestScripts", got)
	}
}

func scriptBuild(ts *testscript.TestScript, neg bool, a []string) {
	args(ts, neg, a, 1, 1)
	if out, err := exec.Command("go", "build", "-buildvcs=false", "-o", ts.MkAbs(a[0]), ".").CombinedOutput(); err != nil {
		ts.Fatalf("building schedlab: %v\n%s", err, out)
	}
}

func scriptExits(ts *testscript.TestScript, neg bool, a []string) {
	args(ts, neg, a, 2, 0)
	code := 0
	if err := ts.Exec(a[1], a[2:]...); err != nil {
		var exit *exec.ExitError
		if !errors.As(err, &exit) {
			ts.Fatalf("%q: %v", a[1:], err)
		}
		code = exit.ExitCode()
	}
	if !slices.Contains(strings.Split(a[0], ","), strconv.Itoa(code)) {
		ts.Fatalf("%q: exit code %d, want %s", a[1:], code, a[0])
	}
}

// A background process of a script.
type background struct {
	cmd            *exec.Cmd
	ended          chan struct{}
	mu             sync.Mutex
	stdout, stderr bytes.Buffer
	grown          chan struct{} // closed when output comes, then replaced
}

// scriptLimit bounds every wait of a script, on a busy machine too.
const scriptLimit = 90 * time.Second

// A stream is one output of a background process.
type stream struct {
	b   *background
	buf *bytes.Buffer
}

func (s stream) Write(p []byte) (int, error) {
	s.b.mu.Lock()
	defer s.b.mu.Unlock()
	s.buf.Write(p)
	close(s.b.grown)
	s.b.grown = make(chan struct{})
	return len(p), nil
}

// output is what came so far, and a channel that tells of more.
func (b *background) output() (string, <-chan struct{}) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.stdout.String() + b.stderr.String(), b.grown
}

// Keys of what scripts carry along.
type (
	started     struct{} // map[string]*background
	environment struct{} // []string, of background processes
	tester      struct{} // testscript.T
)

func scriptStart(ts *testscript.TestScript, neg bool, a []string) {
	args(ts, neg, a, 2, 0)
	b := &background{ended: make(chan struct{}), grown: make(chan struct{})}
	b.cmd = exec.Command(a[1], a[2:]...)
	b.cmd.Dir, b.cmd.Env = ts.MkAbs("."), ts.Value(environment{}).([]string)
	b.cmd.Stdout, b.cmd.Stderr = stream{b, &b.stdout}, stream{b, &b.stderr}
	ts.Check(b.cmd.Start())
	go func() {
		_ = b.cmd.Wait() // its state says it all
		close(b.ended)
	}()
	ts.Defer(func() {
		_ = b.cmd.Process.Kill()
		<-b.ended
	})
	ts.Value(started{}).(map[string]*background)[a[0]] = b
}

func startedAs(ts *testscript.TestScript, name string) *background {
	b := ts.Value(started{}).(map[string]*background)[name]
	if b == nil {
		ts.Fatalf("nothing was started as %q", name)
	}
	return b
}

func scriptAwait(ts *testscript.TestScript, neg bool, a []string) {
	args(ts, neg, a, 2, 0)
	b, want := startedAs(ts, a[0]), regexp.MustCompile("(?m)"+a[1])
	late := time.After(scriptLimit)
	for over := false; ; {
		text, grown := b.output()
		if found := want.FindStringSubmatch(text); found != nil {
			for i, name := range a[2:] {
				ts.Setenv(name, found[i+1])
			}
			return
		}
		if over {
			ts.Fatalf("%s ended without %q:\n%s", a[0], a[1], text)
		}
		select {
		case <-grown:
		case <-b.ended:
			over = true
		case <-late:
			ts.Fatalf("%s does not say %q within %v:\n%s", a[0], a[1], scriptLimit, text)
		}
	}
}

func scriptAwaitFile(ts *testscript.TestScript, neg bool, a []string) {
	args(ts, neg, a, 2, 2)
	b := startedAs(ts, a[0])
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	late := time.After(scriptLimit)
	for {
		found, err := filepath.Glob(ts.MkAbs(a[1]))
		ts.Check(err)
		if len(found) > 0 {
			return
		}
		select {
		case <-tick.C:
		case <-b.ended:
			text, _ := b.output()
			ts.Fatalf("%s ended without a file %s:\n%s", a[0], a[1], text)
		case <-late:
			ts.Fatalf("no file %s within %v", a[1], scriptLimit)
		}
	}
}

func scriptSignal(ts *testscript.TestScript, neg bool, a []string) {
	args(ts, neg, a, 2, 2)
	signals := map[string]syscall.Signal{"TERM": syscall.SIGTERM, "INT": syscall.SIGINT, "HUP": syscall.SIGHUP, "KILL": syscall.SIGKILL}
	ts.Check(startedAs(ts, a[1]).cmd.Process.Signal(signals[a[0]]))
}

func scriptEnded(ts *testscript.TestScript, neg bool, a []string) {
	args(ts, neg, a, 2, 2)
	b := startedAs(ts, a[0])
	select {
	case <-b.ended:
	case <-time.After(scriptLimit):
		text, _ := b.output()
		ts.Fatalf("%s does not end within %v:\n%s", a[0], scriptLimit, text)
	}
	fmt.Fprint(ts.Stdout(), b.stdout.String())
	fmt.Fprint(ts.Stderr(), b.stderr.String())
	if code := b.cmd.ProcessState.ExitCode(); strconv.Itoa(code) != a[1] {
		ts.Fatalf("%s: exit code %d, want %s; stderr:\n%s", a[0], code, a[1], b.stderr.String())
	}
}

func scriptGet(ts *testscript.TestScript, neg bool, a []string) {
	args(ts, neg, a, 1, 1)
	client := http.Client{Timeout: scriptLimit, Transport: &http.Transport{DisableKeepAlives: true}}
	reply, err := client.Get(a[0])
	ts.Check(err)
	defer reply.Body.Close()
	fmt.Fprintln(ts.Stdout(), reply.Status)
	_, err = io.Copy(ts.Stdout(), reply.Body)
	ts.Check(err)
}

// keptSchema reads a schema of the reference.
func keptSchema(name string) (*jsonschema.Schema, error) {
	kept, err := os.ReadFile(filepath.Join("..", "..", "docs", "reference", "schema", name))
	if err != nil {
		return nil, err
	}
	schema := &jsonschema.Schema{}
	return schema, json.Unmarshal(kept, schema)
}

func scriptResult(ts *testscript.TestScript, neg bool, a []string) {
	args(ts, neg, a, 2, 0)
	schema, err := keptSchema("result.json")
	ts.Check(err)
	// It refers to schemas beside it.
	resolved, err := schema.Resolve(&jsonschema.ResolveOptions{
		BaseURI: "file:///result.json",
		Loader:  func(file *url.URL) (*jsonschema.Schema, error) { return keptSchema(path.Base(file.Path)) },
	})
	ts.Check(err)
	var document any
	ts.Check(json.Unmarshal([]byte(ts.ReadFile(a[0])), &document))
	ts.Check(resolved.Validate(document))
	var r record.Comparison
	d := json.NewDecoder(strings.NewReader(ts.ReadFile(a[0])))
	d.DisallowUnknownFields()
	ts.Check(d.Decode(&r))
	if d.More() {
		ts.Fatalf("something follows the result")
	}
	var arms []string
	for _, arm := range r.Arms {
		arms = append(arms, arm.Name)
	}
	if r.Schema != record.Schema || !slices.Equal(arms, a[1:]) || len(r.Verdicts) == 0 || r.Headline == "" {
		ts.Fatalf("got schema %d, arms %q, %d verdicts, headline %q, want %d, %q", r.Schema, arms, len(r.Verdicts), r.Headline, record.Schema, a[1:])
	}
}

func scriptTrials(ts *testscript.TestScript, neg bool, a []string) {
	args(ts, neg, a, 3, 3)
	dir, _, err := record.Open(ts.MkAbs(a[0]), ".")
	ts.Check(err)
	n := 0
	for trial, err := range dir.Trials() {
		ts.Check(err)
		n++
		if s := trial.Server; s.Open >= 0 && trial.Purpose == "" && len(s.Readings) == 0 { // of a mode of ours
			ts.Fatalf("trial %d has no readings of its connections", trial.Number)
		}
		for _, r := range trial.Server.Readings {
			if r.Accepted != r.Done+r.Rejected+r.Dropped+r.Open || r.At >= trial.Window.Seconds() {
				ts.Fatalf("trial %d has the reading %+v, which does not add up or is not of the window", trial.Number, r)
			}
		}
	}
	least, _ := strconv.Atoi(a[1])
	most, _ := strconv.Atoi(a[2])
	if n < least || n > most {
		ts.Fatalf("%d trials, want %s to %s", n, a[1], a[2])
	}
}

func scriptFill(ts *testscript.TestScript, neg bool, a []string) {
	args(ts, neg, a, 1, 1)
	f, err := os.Create(ts.MkAbs(a[0]))
	ts.Check(err)
	defer f.Close()
	for err == nil {
		_, err = f.Write(make([]byte, 4096))
	}
	if !errors.Is(err, syscall.ENOSPC) {
		ts.Fatalf("filling %s: %v", a[0], err)
	}
}

// notRunScript is notRun for a script.
func notRunScript(ts *testscript.TestScript, format string, a ...any) {
	if os.Getenv("SCHEDLAB_REQUIRE") == "1" {
		ts.Fatalf(format, a...)
	}
	ts.Value(tester{}).(testscript.T).Skip("NOT RUN: " + fmt.Sprintf(format, a...))
}
