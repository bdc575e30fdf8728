package record

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"schedlab/internal/shared/request"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

var noon = time.Date(2026, 11, 7, 12, 30, 5, 0, time.UTC)

// sequence yields the given numbers, then the last for ever.
func sequence(v ...uint32) func() uint32 {
	return func() uint32 {
		x := v[0]
		if len(v) > 1 {
			v = v[1:]
		}
		return x
	}
}

func newDir(t *testing.T) (d *Dir, root string) {
	t.Helper()
	root = filepath.Join(t.TempDir(), "runs")
	d, err := Create(root, "quick", noon, sequence(0xbeef))
	if err != nil {
		t.Fatal(err)
	}
	return d, root
}

func TestCreateNeverOverwrites(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	var names []string
	for _, random := range []func() uint32{sequence(7), sequence(7, 7, 8), sequence(0x10009)} {
		d, err := Create(root, "Pool CPU/../x", noon, random)
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, d.Name())
	}
	want := []string{"20261107-123005-pool-cpu----x-0007", "20261107-123005-pool-cpu----x-0008", "20261107-123005-pool-cpu----x-0009"}
	if diff := cmp.Diff(want, names); diff != "" {
		t.Error(diff)
	}
	if got, err := os.Readlink(filepath.Join(root, "latest")); got != want[2] {
		t.Errorf("latest -> %q (%v), want %q", got, err, want[2])
	}
	if _, err := Create(root, "Pool CPU/../x", noon, sequence(7)); !errors.Is(err, fs.ErrExist) {
		t.Errorf("no name left: got %v, want %v", err, fs.ErrExist)
	}
}

// A record that is not kept leaves root as it was.
func TestDiscard(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	for _, want := range []string{"", "20261107-123005-quick-0001"} {
		d, err := Create(root, "quick", noon, sequence(2))
		if err != nil {
			t.Fatal(err)
		}
		if err := d.Discard(); err != nil {
			t.Fatal(err)
		}
		got, _ := os.Readlink(filepath.Join(root, "latest"))
		if entries, _ := os.ReadDir(root); got != want || want == "" && len(entries) > 0 {
			t.Errorf("latest -> %q among %v, want %q", got, entries, want)
		}
		if _, err := Create(root, "quick", noon, sequence(1)); want == "" && err != nil {
			t.Fatal(err)
		}
	}
}

func TestCreateRefusesBeforeLoad(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "file")
	os.WriteFile(file, nil, 0o644)
	_, err := Create(filepath.Join(file, "runs"), "quick", noon, sequence(1))
	if err == nil || !strings.Contains(err.Error(), file) || !strings.Contains(err.Error(), "--out") {
		t.Errorf("unwritable root: got %v, want the path and the fix", err)
	}
	root := t.TempDir()
	os.WriteFile(filepath.Join(root, "latest"), []byte("mine"), 0o644)
	_, err = Create(root, "quick", noon, sequence(1))
	if err == nil || !strings.Contains(err.Error(), "not a symbolic link") {
		t.Errorf("foreign latest: got %v", err)
	}
	if entries, _ := os.ReadDir(root); len(entries) != 1 {
		t.Errorf("a refused Create left %v behind", entries)
	}
}

func TestRunRoundTrip(t *testing.T) {
	t.Parallel()
	d, root := newDir(t)
	p99 := 0.0123
	run := Run{Status: Complete, Started: noon, Plan: Plan{Scenario: "quick", Seed: 42, Order: [][]int{{0, 1}, {1, 0}}},
		XMax: map[string]float64{"pool": 1812.5}, Result: &Comparison{Common: Common{Schema: Schema, Kind: Compared}, Arms: []Arm{{Contestant: Contestant{Name: "pool"}, Figures: Figures{P99: &p99}}}}}
	for _, status := range []Status{Running, Complete} { // replaced as it goes
		run.Status = status
		if err := d.WriteRun(run); err != nil {
			t.Fatal(err)
		}
	}
	run.Schema, run.Name, run.Result.Head().Dir = Schema, d.Name(), d.Path() // wherever it was made
	for _, name := range []string{"latest", d.Name(), d.Path(), filepath.Join(d.Path(), "run.json"), filepath.Join(root, "latest")} {
		opened, got, err := Open(name, root)
		if err != nil {
			t.Errorf("Open(%q): %v", name, err)
			continue
		}
		if diff := cmp.Diff(run, got); diff != "" {
			t.Errorf("Open(%q): (-want +got)\n%s", name, diff)
		}
		if opened.Name() != d.Name() {
			t.Errorf("Open(%q) is %q, want %q", name, opened.Name(), d.Name())
		}
	}
}

func TestWriteFileKeepsTheOldOneOnFailure(t *testing.T) {
	t.Parallel()
	d, _ := newDir(t)
	text := func(s string, err error) func(io.Writer) error {
		return func(w io.Writer) error { io.WriteString(w, s); return err }
	}
	if err := d.WriteFile("bench.txt", text("first", nil)); err != nil {
		t.Fatal(err)
	}
	err := d.WriteFile("bench.txt", text("second", syscall.ENOSPC))
	if !errors.Is(err, syscall.ENOSPC) || !strings.Contains(err.Error(), filepath.Join(d.Path(), "bench.txt")) {
		t.Errorf("got %v, want no space and the path", err)
	}
	if got, _ := os.ReadFile(filepath.Join(d.Path(), "bench.txt")); string(got) != "first" {
		t.Errorf("bench.txt holds %q, want %q", got, "first")
	}
	if left, _ := filepath.Glob(filepath.Join(d.Path(), ".*")); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
	for _, name := range []string{"", ".", "..", "a/b", "/etc/x", "../x"} {
		if err := d.WriteFile(name, text("", nil)); err == nil {
			t.Errorf("WriteFile(%q) succeeded", name)
		}
	}
	err = d.WriteRun(Run{XMax: map[string]float64{"pool": math.NaN()}})
	if err == nil || !strings.Contains(err.Error(), "run.json") {
		t.Errorf("not a number: got %v", err)
	}
}

func TestTrialsRoundTrip(t *testing.T) {
	t.Parallel()
	d, root := newDir(t)
	want := map[int][]request.Request{1: sample(100), 2: sample(7), 1000: nil}
	for n, requests := range want {
		trial := Trial{Number: n, Block: 1, Arm: "nethttp'", Window: Lasting(60 * time.Second)}
		if err := d.WriteTrial(trial, requests, Files{Metrics: []byte("# EOF\n"), Before: []byte("# EOF\n")}); err != nil {
			t.Fatal(err)
		}
	}
	if err := d.WriteTrial(Trial{Number: 2, Arm: "nethttp'"}, nil, Files{}); !errors.Is(err, fs.ErrExist) {
		t.Errorf("second trial 2: got %v, want %v", err, fs.ErrExist)
	}
	os.Mkdir(filepath.Join(d.Path(), "trials", "003-pool.unfinished"), 0o755) // a kill
	if err := d.WriteRun(Run{Status: Running}); err != nil {
		t.Fatal(err)
	}

	d, _, err := Open("latest", root)
	if err != nil {
		t.Fatal(err)
	}
	var order []int
	for trial, err := range d.Trials() {
		if err != nil {
			t.Fatal(err)
		}
		order = append(order, trial.Number)
		if diff := cmp.Diff(want[trial.Number], trial.Requests); diff != "" {
			t.Errorf("trial %d: %s", trial.Number, diff)
		}
		for name, there := range map[string]bool{"metrics.om": true, "metrics-before.om": true, "server.log": false, "response.hgrm": true} {
			if _, err := os.Stat(filepath.Join(trial.Path, name)); (err == nil) != there {
				t.Errorf("trial %d: %s: %v, want there: %v", trial.Number, name, err, there)
			}
		}
	}
	if diff := cmp.Diff([]int{1, 2, 1000}, order); diff != "" {
		t.Error(diff)
	}
	left, err := d.Unfinished()
	if err != nil || len(left) != 1 || filepath.Base(left[0]) != "003-pool.unfinished" {
		t.Errorf("unfinished = %v, %v", left, err)
	}
}

func TestFullRecordLeavesBulkOut(t *testing.T) {
	t.Parallel()
	d, _ := newDir(t)
	d.limit = 1500
	for n := range 3 {
		if err := d.WriteTrial(Trial{Number: n + 1, Arm: "pool"}, sample(50), Files{}); err != nil {
			t.Fatal(err)
		}
	}
	var kept, omitted int
	for trial, err := range d.Trials() {
		switch {
		case err != nil:
			t.Error(err)
		case trial.Omitted != "":
			omitted++
		case len(trial.Requests) == 50:
			kept++
		}
	}
	if kept == 0 || omitted == 0 || kept+omitted != 3 {
		t.Errorf("%d trials with requests, %d without; want some of both, 3 in all", kept, omitted)
	}
}

// Stamps belong to requests, so a trial whose files have different numbers of them cannot be read. The trials around it can,
// although their requests take the same memory.
func TestStampsOfOtherRequests(t *testing.T) {
	t.Parallel()
	d, _ := newDir(t)
	for n, stamps := range []int{40, 41, 39, 30} {
		if err := d.WriteTrial(Trial{Number: n + 1, Arm: "pool"}, sample(40-n/3*10), Files{Stamps: make([]request.Stamps, stamps)}); err != nil {
			t.Fatal(err)
		}
	}
	var got []string
	for trial, err := range d.Trials() {
		if err != nil {
			got = append(got, strings.TrimPrefix(err.Error(), fmt.Sprintf("reading %q: ", trial.Path)))
			continue
		}
		got = append(got, fmt.Sprint(len(trial.Requests), " ", len(trial.Stamps)))
	}
	want := []string{"40 40", "stamps of 41 requests, there are 40", "stamps of 39 requests, there are 40", "30 30"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestOpenErrorsAreOneLineWithTheFix(t *testing.T) {
	t.Parallel()
	d, root := newDir(t)
	if err := d.WriteRun(Run{Status: Complete}); err != nil {
		t.Fatal(err)
	}
	bad := func(name, content string) {
		dir := filepath.Join(root, name)
		os.MkdirAll(dir, 0o755)
		os.WriteFile(filepath.Join(dir, "run.json"), []byte(content), 0o644)
	}
	bad("newer", `{"schema": 3, "name": 3}`)
	bad("tidal", `{"schema": 2, "result": {"kind": "tide"}}`)
	bad("foreign", `{"metrics": {}}`)
	bad("corrupt", `{"schema": 1, "name": "x", "plan": {`)
	bad("odd", `{"schema": 1, "name": 5}`)
	bad("empty", ``)
	bad("list", `[1, 2]`)
	for name, want := range map[string]string{
		"newer":   "schema 3, this schedlab reads up to 2: use a newer schedlab",
		"tidal":   `its result is a "tide", which this schedlab does not know: use a newer schedlab`,
		"foreign": "not written by schedlab",
		"corrupt": "corrupt at byte 36: unexpected end of JSON input; restore the file or run again",
		"odd":     "corrupt at byte",
		"empty":   "the file is empty",
		"list":    "corrupt at byte",
		"nowhere": "the newest there is ",
		"a/b":     `no run.json in "a/b"`,
		"":        "no name given",
	} {
		_, _, err := Open(name, root)
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("Open(%q): got %v, want one line with %q", name, err, want)
		}
		if name != "" && err != nil && !strings.Contains(err.Error(), name) {
			t.Errorf("Open(%q): %v does not name the file", name, err)
		}
	}
	if _, _, err := Open("latest", filepath.Join(root, "none")); err == nil || !strings.Contains(err.Error(), "no runs there yet") {
		t.Errorf("no root: got %v", err)
	}
}

func TestOneBadTrialDoesNotHideTheNext(t *testing.T) {
	t.Parallel()
	d, _ := newDir(t)
	for n := range 3 {
		if err := d.WriteTrial(Trial{Number: n + 1, Arm: "pool"}, sample(5), Files{}); err != nil {
			t.Fatal(err)
		}
	}
	broken := filepath.Join(d.Path(), "trials", "002-pool", "requests.col.gz")
	os.Truncate(broken, 20)
	var good, failed int
	for trial, err := range d.Trials() {
		switch {
		case err == nil:
			good++
		case strings.Contains(err.Error(), broken) && trial.Path == filepath.Dir(broken):
			failed++
		default:
			t.Errorf("%v does not name %q", err, broken)
		}
	}
	if good != 2 || failed != 1 {
		t.Errorf("%d read, %d named; want 2 and 1", good, failed)
	}
}

// A run that is no answer of its own leaves the name of the newest to the one before.
func TestStepBack(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	n := uint32(0)
	create := func() *Dir {
		n++
		d, err := Create(root, "demo", time.Now(), func() uint32 { return n })
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	newest := func() string {
		name, err := os.Readlink(filepath.Join(root, "latest"))
		if err != nil {
			return ""
		}
		return name
	}
	first, test := create(), create()
	if err := test.RestoreLatest(); err != nil || newest() != first.Name() {
		t.Errorf("after a test of the first the newest is %q, %v; want %q", newest(), err, first.Name())
	}
	if err := test.RestoreLatest(); err != nil || newest() != first.Name() {
		t.Errorf("stepped back twice: %q, %v", newest(), err)
	}
	third := create()
	if err := test.RestoreLatest(); err != nil || newest() != third.Name() {
		t.Errorf("stepped back from what is not the newest: %q, %v", newest(), err)
	}
	if err := errors.Join(third.RestoreLatest(), first.RestoreLatest()); err != nil || newest() != "" {
		t.Errorf("the only one stepped back: %q, %v", newest(), err)
	}
}

// JSON that a terminal shows has no characters that change the direction of text, and means the same.
func TestJSONHasNoDirectionMarks(t *testing.T) {
	t.Parallel()
	const name = "\u202epool\u2069 <\u200f>"
	var b bytes.Buffer
	if err := WriteJSON(&b, []string{name}); err != nil {
		t.Fatal(err)
	}
	if want := "[\n  \"\\u202epool\\u2069 <\\u200f>\"\n]\n"; b.String() != want {
		t.Errorf("got %q, want %q", b.String(), want)
	}
	var back []string
	if err := json.Unmarshal(b.Bytes(), &back); err != nil || back[0] != name {
		t.Errorf("read back %q, %v", back, err)
	}
}

// sample is n requests as an open-loop trial makes them, every tenth failing.
func sample(n int) []request.Request {
	rng := rand.New(rand.NewPCG(1, 2))
	requests := make([]request.Request, n)
	var at int64
	for i := range requests {
		at += rng.Int64N(2e6)
		requests[i] = request.Request{
			Scheduled: at, Sent: at + rng.Int64N(1e5), Done: at + 1e5 + rng.Int64N(1e7),
			Bytes: 3, Status: 200, Iters: rng.Uint32N(1e5), Sleep: rng.Int64N(2) * 1e7,
		}
		if i%10 == 9 {
			requests[i].Sent, requests[i].Status, requests[i].Bytes, requests[i].Outcome = -1, 0, 0, request.End(1+i/10%4)
		}
	}
	return requests
}
