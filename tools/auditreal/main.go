// Command auditreal runs load tools with random flags and audits what they print; tools/audit-real builds
// the tools and describes the flags. It runs in the root of the tree.
//
// A run is one command line, drawn from a seed and the run's number, so that any one can be drawn again. It
// goes to a target: a server on loopback that answers, refuses, errs, waits or is not there. All are honest
// runs. So audit must call none of them impossible, must read each line, and must say that nothing was
// measured where the target gave no good reply. Each output is audited twice: as it was printed, and as people
// paste it, below its command, indented, quoted, or without its first lines.
package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

const (
	// runLimit ends a run; the draws are such that none takes half of it on an idle machine.
	runLimit = 15 * time.Second
	// largestSample is the largest output that is kept as a sample, in bytes.
	largestSample = 6 << 10
	samplesDir    = "internal/capabilities/audit/testdata/real"
)

func main() {
	code, err := realMain(os.Args[1:], os.Stdout)
	if err != nil {
		fmt.Fprintln(os.Stderr, "tools/audit-real:", err)
	}
	os.Exit(code)
}

func realMain(args []string, out io.Writer) (int, error) {
	fl := flag.NewFlagSet("tools/audit-real", flag.ContinueOnError)
	dry := fl.Bool("dry", false, "only print the commands")
	samples := fl.Bool("samples", false, "write N outputs of each tool below "+samplesDir)
	only := fl.String("tool", "", "run only this tool of the table, like oha or hey-0.1.5")
	if err := fl.Parse(args); err != nil {
		return 2, nil // which flag has printed
	}
	n, seed := 300, uint64(1)
	if *samples {
		n = 12
	}
	var err error
	if fl.NArg() > 0 {
		n, err = strconv.Atoi(fl.Arg(0))
	}
	if err == nil && fl.NArg() > 1 {
		seed, err = strconv.ParseUint(fl.Arg(1), 10, 64)
	}
	if err != nil || n < 1 || fl.NArg() > 2 {
		return 2, errors.New("usage: tools/audit-real [--dry | --samples] [--tool NAME] [N] [SEED]")
	}

	here := slices.DeleteFunc(find(tools), func(t *tool) bool { return *only != "" && t.name != *only })
	if len(here) == 0 {
		return 2, fmt.Errorf("no load tool %s is here; 'make deps' installs some", *only)
	}
	if *dry {
		for i := range n {
			t := here[i%len(here)]
			r := newDraw(seed, i)
			fmt.Fprintln(out, t.line(r, r.target(t, mockTargets())))
		}
		return 0, nil
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	targets, stop, err := startTargets(ctx)
	if err != nil {
		return 2, err
	}
	defer stop()
	if *samples {
		return writeSamples(ctx, out, here, targets, n, seed)
	}
	return runAll(ctx, out, here, targets, n, seed)
}

// A verdict is the answer of audit to an output, in one word.
type verdict string

const (
	clean      verdict = "clean"
	impossible verdict = "impossible"       // a law forbids these figures
	notRead    verdict = "not read"         // no run was found, or lines of the output were not read
	nothing    verdict = "nothing measured" // audit says that no request was answered well
	gaveUp     verdict = "gave up"          // the tool failed before it printed a result, and audit found none
)

var verdicts = []verdict{clean, impossible, notRead, nothing, gaveUp}

// A run is one command, its output, and audit's verdict.
type run struct {
	tool, version string
	line          string // the command line
	target        *target
	good          bool // the target gave a good reply
	printed       []byte
	failed        bool // the tool's exit code was not 0
	verdict
	said string // the answer of audit, or its error
}

// execute runs the command line of a tool and audits its output.
func execute(ctx context.Context, t *tool, g *target, line string) (*run, error) {
	before := g.replies()
	ctx, cancel := context.WithTimeout(ctx, runLimit)
	defer cancel()
	cmd := exec.CommandContext(ctx, "bash", "-o", "pipefail", "-c", "{ "+line+"\n} 2>&1")
	// What a killed shell has started is killed with it.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = time.Second
	printed, err := cmd.CombinedOutput()
	if ctx.Err() != nil {
		return nil, fmt.Errorf("no end after %s: %s", runLimit, line)
	}
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		return nil, err
	}
	r := &run{tool: t.name, version: t.version, line: line, target: g, good: g.served(before), printed: printed, failed: err != nil}
	r.verdict, r.said, err = audit(printed, r.failed)
	return r, err
}

// audit has schedlab judge a text. failed tells that its tool failed.
func audit(text []byte, failed bool) (verdict, string, error) {
	var stdout, stderr strings.Builder
	cmd := exec.Command("bin/schedlab", "audit", "--output", "json", "-")
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(string(text)), &stdout, &stderr
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		return "", "", err
	}
	return judge(cmd.ProcessState.ExitCode(), stdout.String(), strings.TrimSpace(stderr.String()), failed)
}

// judge makes a verdict of the exit code and the outputs of schedlab audit.
func judge(code int, stdout, stderr string, failed bool) (verdict, string, error) {
	switch {
	case code == 2 && failed:
		return gaveUp, stderr, nil
	case code == 2:
		return notRead, stderr, nil
	case code != 0 && code != 3:
		return "", "", fmt.Errorf("schedlab audit: exit code %d: %s", code, stderr)
	}
	var answer struct {
		Runs     []json.RawMessage `json:"runs"`
		Findings []struct {
			Outcome, Code, Message string
		} `json:"findings"`
		NotRead []struct {
			Line int    `json:"line"`
			Text string `json:"text"`
		} `json:"not_read"`
	}
	if err := json.Unmarshal([]byte(stdout), &answer); err != nil {
		return "", "", fmt.Errorf("schedlab audit printed no JSON: %w", err)
	}
	result, said := clean, []string(nil)
	for _, l := range answer.NotRead {
		result, said = notRead, append(said, fmt.Sprintf("line %d not read: %s", l.Line, l.Text))
	}
	if len(answer.Runs) > 1 {
		result, said = notRead, append(said, fmt.Sprintf("read as %d runs", len(answer.Runs)))
	}
	for _, f := range answer.Findings {
		switch {
		case f.Outcome == "no":
			result, said = impossible, append(said, f.Code+": "+f.Message)
		case slices.Contains(nothingCodes, f.Code) && result == clean:
			result = nothing
		}
	}
	return result, strings.Join(said, "\n"), nil
}

// nothingCodes are the findings that no request was answered, or none well.
var nothingCodes = []string{"audit-nothing", "audit-all-bad"}

// runAll makes n runs, the tools in turn, and prints the table. Its exit code is 1 if a run was called
// impossible.
func runAll(ctx context.Context, out io.Writer, here []*tool, targets []*target, n int, seed uint64) (int, error) {
	work, err := os.MkdirTemp("", "audit-real-")
	if err != nil {
		return 2, err
	}
	var runs []*run
	pasted := map[string]int{} // by tool: outputs that are called impossible only as they are pasted
	odd := 0
	for i := range n {
		t := here[i%len(here)]
		d := newDraw(seed, i)
		g := d.target(t, targets)
		r, err := execute(ctx, t, g, t.line(d, g))
		if err != nil {
			return 2, err
		}
		runs = append(runs, r)
		name, text := d.paste(r)
		v, said, err := audit(text, r.failed)
		if err != nil {
			return 2, err
		}
		if v == impossible && r.verdict != impossible {
			pasted[t.name]++
		}
		// Keep the output of odd runs in a file, with the command in the first line.
		keep := func(how string, v verdict, said string, text []byte) error {
			odd++
			file := filepath.Join(work, fmt.Sprintf("%03d-%s%s.txt", i, t.name, how))
			fmt.Fprintf(out, "%s: %s: %s\n%s\n", file, v, r.line, indent(said))
			return os.WriteFile(file, append([]byte("# "+r.line+"\n"), text...), 0o644)
		}
		if wrong := r.wrong(); wrong != "" {
			if err := keep("", r.verdict, cmp.Or(r.said, wrong), r.printed); err != nil {
				return 2, err
			}
		}
		if v == impossible && r.verdict != impossible {
			if err := keep("-"+name, v, said, text); err != nil {
				return 2, err
			}
		}
	}
	table(out, here, runs, pasted, seed)
	if odd == 0 {
		_ = os.Remove(work)
	}
	if slices.ContainsFunc(runs, func(r *run) bool { return r.verdict == impossible }) || len(pasted) > 0 {
		return 1, nil
	}
	return 0, nil
}

// wrong tells how a verdict differs from the truth, "" where it does not. A run without a good reply
// measured nothing, or the tool gave up.
func (r *run) wrong() string {
	switch {
	case r.verdict == impossible || r.verdict == notRead:
		return string(r.verdict)
	case r.verdict == gaveUp && r.target.gives:
		return "gave up, and the target answers always"
	case r.target.unclear:
		return ""
	case r.verdict == nothing && r.good:
		return "called nothing measured, and the target gave good replies"
	case r.verdict == clean && !r.good:
		return "called clean, and the target gave no good reply"
	}
	return ""
}

// table prints one line for each tool, also for tools that are not installed here.
func table(out io.Writer, here []*tool, runs []*run, pasted map[string]int, seed uint64) {
	fmt.Fprintf(out, "\n%d runs, seed %d\n\n| tool | version | runs |", len(runs), seed)
	for _, v := range verdicts {
		fmt.Fprintf(out, " %s |", v)
	}
	fmt.Fprint(out, " only as pasted | clean or nothing, wrongly |\n|---|---|---|")
	fmt.Fprintln(out, strings.Repeat("---|", len(verdicts)+2))
	total := map[verdict]int{}
	allPasted, allMistaken := 0, 0
	for _, t := range tools {
		if !slices.Contains(here, t) {
			fmt.Fprintf(out, "| %s | not run: %s |\n", t.name, cmp.Or(t.missing, "not asked for"))
			continue
		}
		count, of, mistaken := map[verdict]int{}, 0, 0
		for _, r := range runs {
			if r.tool != t.name {
				continue
			}
			of++
			count[r.verdict]++
			total[r.verdict]++
			if r.verdict == nothing || r.verdict == clean {
				if r.wrong() != "" {
					mistaken++
				}
			}
		}
		allPasted, allMistaken = allPasted+pasted[t.name], allMistaken+mistaken
		fmt.Fprintf(out, "| %s | %s | %d |", t.name, t.version, of)
		for _, v := range verdicts {
			fmt.Fprintf(out, " %d |", count[v])
		}
		fmt.Fprintf(out, " %d | %d |\n", pasted[t.name], mistaken)
	}
	fmt.Fprintf(out, "| all | | %d |", len(runs))
	for _, v := range verdicts {
		fmt.Fprintf(out, " %d |", total[v])
	}
	fmt.Fprintf(out, " %d | %d |\n", allPasted, allMistaken)
}

func indent(text string) string { return "    " + strings.ReplaceAll(text, "\n", "\n    ") }

// writeSamples writes n outputs of each tool that is here, the first that are small enough, and replaces
// earlier ones. The name has the tool, the target and the truth: TOOL-03-closed.none.txt for a run without a
// good reply, .good where there was one, .unclear where the tools differ.
func writeSamples(ctx context.Context, out io.Writer, here []*tool, targets []*target, n int, seed uint64) (int, error) {
	if err := os.MkdirAll(samplesDir, 0o755); err != nil {
		return 2, err
	}
	for _, t := range here {
		old, err := filepath.Glob(filepath.Join(samplesDir, t.name+"-[0-9][0-9]-*"))
		if err != nil {
			return 2, err
		}
		for _, file := range old {
			if err := os.Remove(file); err != nil {
				return 2, err
			}
		}
		// Each target comes up before one comes again, in an order of the tool's own.
		order := newDraw(seed, slices.Index(tools, t)).Perm(len(targets))
		for i, written := 0, 0; written < n; i++ {
			g := targets[order[i%len(order)]]
			if g.tcp() && !t.tcp {
				continue
			}
			d := newDraw(seed, i)
			r, err := execute(ctx, t, g, t.line(d, g))
			if err != nil {
				return 2, err
			}
			if len(r.printed) > largestSample || len(r.printed) == 0 {
				fmt.Fprintf(out, "%s: %d bytes: left out\n", r.line, len(r.printed))
				continue
			}
			truth, kind := "none", "txt"
			switch {
			case g.unclear:
				truth = "unclear"
			case r.good:
				truth = "good"
			}
			if strings.HasPrefix(string(r.printed), "{") {
				kind = "json"
			}
			written++
			file := filepath.Join(samplesDir, fmt.Sprintf("%s-%02d-%s.%s.%s", t.name, written, g.name, truth, kind))
			fmt.Fprintf(out, "%s: %s: %s\n", file, r.verdict, r.line)
			if err := os.WriteFile(file, nameless(r.printed), 0o644); err != nil {
				return 2, err
			}
		}
	}
	return 0, nil
}

// nameless replaces what names this machine in an output: its host name, and the tree's path.
func nameless(text []byte) []byte {
	host, _ := os.Hostname()
	tree, _ := os.Getwd()
	pairs := []string{tree, "/tree"}
	if len(host) > 2 {
		pairs = append(pairs, host, "machine")
	}
	return []byte(strings.NewReplacer(pairs...).Replace(string(text)))
}

// A draw makes the random choices of one run.
type draw struct{ *rand.Rand }

func newDraw(seed uint64, i int) draw { return draw{rand.New(rand.NewPCG(seed, uint64(i)))} }

func (d draw) one(words ...string) string { return words[d.IntN(len(words))] }

func (d draw) between(low, high int) int { return low + d.IntN(max(0, high-low)+1) }

// maybe returns a space and the words in one of share cases, and nothing in the others.
func (d draw) maybe(share int, words ...string) string {
	if word := d.one(words...); d.IntN(share) == 0 {
		return " " + word
	}
	return ""
}

func (d draw) target(t *tool, all []*target) *target {
	for {
		if g := all[d.IntN(len(all))]; t.tcp || !g.tcp() {
			return g
		}
	}
}

// load returns a number of requests, from 1, and of connections, no more than that. The target answers
// them in a second or so.
func (d draw) load(g *target) (n, c int) {
	n = []int{1, 1, 2, 3, 4, 5, 7, 9, 10, 11, 20, 50, 99, 100, 101, 200, 500, 1000, 2000}[d.IntN(19)]
	c = d.between(1, min(n, 20))
	if d.IntN(3) == 0 {
		c = min(n, 1<<d.IntN(5))
	}
	return max(c, min(n, int(time.Second/max(g.each, time.Microsecond))*c)), c
}

// paste returns an output as people paste it, and a name for how.
func (d draw) paste(r *run) (string, []byte) {
	text := string(r.printed)
	each := func(before string) string {
		return before + strings.TrimSuffix(strings.ReplaceAll(text, "\n", "\n"+before), before)
	}
	switch how := d.one("command", "indented", "quoted", "list", "fenced", "headless", "crlf", "bom"); how {
	case "command":
		return how, []byte("$ " + r.line + "\n" + text)
	case "indented":
		return how, []byte(each("    "))
	case "quoted":
		return how, []byte(each("> "))
	case "list":
		return how, []byte("- our run:\n\n" + each("  "))
	case "fenced":
		return how, []byte("## Results\n\nOn our server:\n\n```\n" + text + "```\n\nNot bad.\n")
	case "headless":
		lines := strings.SplitAfter(text, "\n")
		return how, []byte(strings.Join(lines[min(len(lines), d.between(1, 6)):], ""))
	case "crlf":
		return how, []byte(strings.ReplaceAll(text, "\n", "\r\n"))
	default:
		return how, []byte("\ufeff" + text)
	}
}
