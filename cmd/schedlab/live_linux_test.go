package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
	"unicode/utf8"

	"golang.org/x/sys/unix"

	"schedlab/internal/capabilities/session"
)

// A terminal is a pseudo-terminal with schedlab on it, as a person has it: input, output and errors,
// and Ctrl-C.
type terminal struct {
	master *os.File
	cmd    *exec.Cmd
	ended  chan struct{} // all output is read
	mu     sync.Mutex
	output strings.Builder
}

// onTerminal starts schedlab on a terminal of that many columns and 24 rows.
func onTerminal(t *testing.T, columns uint16, env []string, args ...string) *terminal {
	t.Helper()
	fd, err := unix.Open("/dev/ptmx", unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC, 0)
	if err != nil {
		notRun(t, "no pseudo-terminal: %v", err)
	}
	v := &terminal{master: os.NewFile(uintptr(fd), "ptmx"), ended: make(chan struct{})}
	n, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err := errors.Join(err, unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0)); err != nil {
		t.Fatal(err)
	}
	slave, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	v.resize(t, columns)
	v.cmd = exec.Command("schedlab", args...)
	v.cmd.Stdin, v.cmd.Stdout, v.cmd.Stderr = slave, slave, slave
	v.cmd.Env = append(os.Environ(), env...)
	v.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := v.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	slave.Close()
	go func() {
		defer close(v.ended)
		_, _ = io.Copy(v, v.master) // reading fails when the last program has left the terminal
	}()
	t.Cleanup(func() {
		_ = v.cmd.Process.Kill()
		<-v.ended
		v.master.Close()
	})
	return v
}

func (v *terminal) resize(t *testing.T, columns uint16) {
	t.Helper()
	if err := unix.IoctlSetWinsize(int(v.master.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: 24, Col: columns}); err != nil {
		t.Fatal(err)
	}
}

func (v *terminal) Write(p []byte) (int, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.output.Write(p)
}

func (v *terminal) said() string {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.output.String()
}

// drawings are the screens that were drawn whole, without a carriage return before each line break.
func drawings(output string) (all []string) {
	for _, d := range regexp.MustCompile(`(?s)\x1b\[\?25l\r(?:\x1b\[\d+A)?\x1b\[J(.*?)\x1b\[\?25h`).FindAllStringSubmatch(output, -1) {
		all = append(all, strings.ReplaceAll(d[1], "\r\n", "\n"))
	}
	return all
}

// await waits for a drawing after the first skip ones that matches.
func (v *terminal) await(t *testing.T, skip int, want *regexp.Regexp) {
	t.Helper()
	for late := time.Now().Add(scriptLimit); ; time.Sleep(5 * time.Millisecond) {
		all := drawings(v.said())
		if slices.ContainsFunc(all[min(skip, len(all)):], want.MatchString) {
			return
		}
		select {
		case <-v.ended:
			t.Fatalf("it ended without a drawing like %q:\n%q", want, v.said())
		default:
		}
		if time.Now().After(late) {
			t.Fatalf("no drawing like %q within %v:\n%q", want, scriptLimit, v.said())
		}
	}
}

// shownBy is what stands on the terminal in the end, with what has left it at the top, and whether its
// cursor is visible. It knows the sequences that schedlab uses, and no lines that are folded.
func shownBy(t *testing.T, output string) (text string, cursor bool) {
	t.Helper()
	sequence := regexp.MustCompile(`^\x1b\[(\??)(\d*)(?:;\d+)*([A-Za-z])`)
	lines, row, column := [][]rune{nil}, 0, 0
	cursor = true
	for len(output) > 0 {
		c, size := utf8.DecodeRuneInString(output)
		found := sequence.FindStringSubmatch(output)
		if found != nil {
			size = len(found[0])
		}
		output = output[size:]
		switch {
		case found != nil && found[3] == "A":
			n, _ := strconv.Atoi(found[2])
			if row -= n; row < 0 {
				t.Fatalf("the cursor leaves the terminal at the top, before %q", output)
			}
		case found != nil && found[3] == "J":
			lines = lines[:row+1]
			lines[row] = lines[row][:min(column, len(lines[row]))]
		case found != nil && found[1] == "?":
			cursor = found[3] == "h"
		case found != nil && found[3] == "m":
		case found != nil || c == '\x1b':
			t.Fatalf("an unknown sequence before %q", output)
		case c == '\r':
			column = 0
		case c == '\n':
			if row++; row == len(lines) {
				lines = append(lines, nil)
			}
		default:
			for len(lines[row]) <= column {
				lines[row] = append(lines[row], ' ')
			}
			lines[row][column] = c
			column++
		}
	}
	var b strings.Builder
	for _, l := range lines {
		b.WriteString(string(l) + "\n")
	}
	return b.String(), cursor
}

// watchedRun is a short comparison.
func watchedRun(t *testing.T, blocks string, more ...string) []string {
	return append([]string{"compare", "plaintext", "--arms", "nethttp,fasthttp", "--blocks", blocks, "--window", "100ms", "--warmup", "20ms",
		"--rate", "300/s", "--budget", "2m", "--out", t.TempDir()}, more...)
}

// liveFigures finds a line of the screen with an arm's figures: p50, p99, goodput, connections, and a sparkline that
// knows no p99 of 30 requests.
func liveFigures(arm string) *regexp.Regexp {
	return regexp.MustCompile(`(?m)^` + arm + ` +[\d.]+[mµ]?s +- +[\d.,]+/s +\d+ +\d+ +\d+ ·+$`)
}

// A run on a terminal shows its arms while it goes on, and in the end the answer alone.
func TestLiveScreenGivesWayToTheAnswer(t *testing.T) {
	t.Parallel()
	v := onTerminal(t, 80, []string{"TERM=xterm", "NO_COLOR="}, watchedRun(t, "10")...)
	v.await(t, 0, liveFigures("fasthttp"))
	<-v.ended
	if err := v.cmd.Wait(); err != nil && v.cmd.ProcessState.ExitCode() != session.NoAnswer {
		t.Errorf("%v:\n%s", err, v.said())
	}
	all := drawings(v.said())
	last := all[len(all)-1]
	for _, want := range []string{"nethttp", "nethttp'", "fasthttp"} {
		if !liveFigures(want).MatchString(last) {
			t.Errorf("the last drawing has no figures of %s:\n%s", want, last)
		}
	}
	if !strings.Contains(last, "block 10: ") || !strings.Contains(last, "\x1b[1mno answer yet: the first look is after 10 blocks\x1b[0m\n") {
		t.Errorf("the last drawing has neither block nor answer:\n%s", last)
	}
	text, cursor := shownBy(t, v.said())
	if !cursor || strings.Contains(text, "p99 by block") || strings.Contains(text, "block 10: ") || !strings.Contains(text, "\nplaintext: ") || !strings.Contains(text, "\nReport ") {
		t.Errorf("cursor visible %v, want the report and no screen:\n%s", cursor, text)
	}
}

// Ctrl-C takes the screen away and prints the answer so far. A terminal that was made narrower gets
// shorter lines at once, and NO_COLOR is kept.
func TestLiveScreenEndsByCtrlC(t *testing.T) {
	t.Parallel()
	v := onTerminal(t, 120, []string{"TERM=xterm", "NO_COLOR=1"}, watchedRun(t, "40")...)
	v.await(t, 0, liveFigures("fasthttp"))
	v.resize(t, 60)
	wide := len(drawings(v.said()))
	v.await(t, wide+1, liveFigures("fasthttp"))
	if _, err := v.master.WriteString("\x03"); err != nil {
		t.Fatal(err)
	}
	<-v.ended
	if err := v.cmd.Wait(); v.cmd.ProcessState.ExitCode() != session.Interrupted {
		t.Errorf("got %v, want exit code %d:\n%s", err, session.Interrupted, v.said())
	}
	for _, d := range drawings(v.said())[wide+1:] {
		for line := range strings.Lines(d) {
			if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n >= 60 {
				t.Errorf("%d columns: %q", n, line)
			}
		}
	}
	text, cursor := shownBy(t, v.said())
	if !cursor || regexp.MustCompile(`\x1b\[\d+m`).MatchString(v.said()) {
		t.Errorf("cursor visible %v, want that and no style:\n%q", cursor, v.said())
	}
	// The wide drawing may stand where the terminal became narrow.
	if n := strings.Count(text, "goodput accepted"); n > 1 || !regexp.MustCompile(`(?s)\nINTERRUPTED: .*\nschedlab: interrupted; what was measured is kept in `).MatchString(text) {
		t.Errorf("%d screens, want the answer so far and where it is kept:\n%s", n, text)
	}
}

// A terminal that is too small, or dumb, gets lines as a pipe does; a dumb one no colour either, and no screen to
// whoever asks for one.
func TestTerminalsWithoutAScreen(t *testing.T) {
	t.Parallel()
	for name, args := range map[string]struct {
		columns uint16
		term    string
		flags   []string
		plain   string // NO_COLOR
	}{
		"small": {59, "xterm", nil, "1"}, "plain": {80, "xterm", []string{"--progress", "plain"}, "1"},
		"dumb": {80, "dumb", nil, ""}, "dumb, asked for live": {80, "dumb", []string{"--progress", "live"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			v := onTerminal(t, args.columns, []string{"TERM=" + args.term, "NO_COLOR=" + args.plain}, watchedRun(t, "40", args.flags...)...)
			for !strings.Contains(v.said(), "left\r\n") {
				select {
				case <-v.ended:
					t.Fatalf("it ended without a line of progress:\n%s", v.said())
				case <-time.After(5 * time.Millisecond):
				}
			}
			_, _ = v.master.WriteString("\x03")
			<-v.ended
			if _ = v.cmd.Wait(); strings.Contains(v.said(), "\x1b") {
				t.Errorf("got escapes: %q", v.said())
			}
		})
	}
}
