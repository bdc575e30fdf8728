package process

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"schedlab/internal/measuring/host"
	"schedlab/internal/measuring/process/stub"
	"schedlab/internal/shared/cmdline"
)

// launch starts a stub within the limits; it is killed when the test ends.
func launch(t *testing.T, how string, ready, stop time.Duration) (*Process, error) {
	t.Helper()
	l, err := NewLauncher(host.Sides{})
	if err != nil {
		t.Fatal(err)
	}
	l.readyLimit, l.stopLimit = ready, stop
	p, err := l.Start(t.Context(), stub.Command(how), "/")
	t.Cleanup(func() {
		if p != nil {
			p.Kill()
		}
		l.Close()
	})
	return p, err
}

// A server that dies of its last request is dead when it is to be stopped, and is
// not taken for one that ended because it was asked to.
func TestDeathAtTheEndIsNoDrain(t *testing.T) {
	t.Parallel()
	for range 5 {
		p, err := launch(t, "brittle", patient, patient)
		if err != nil {
			t.Fatal(err)
		}
		reply, err := http.Get("http://" + p.Addr + "/die")
		if err == nil {
			reply.Body.Close()
			t.Fatalf("it lives and answers %d", reply.StatusCode)
		}
		p.AwaitDeath()
		const want = "the server ended during its trial (exit status 7); its log ends with: asked to"
		if err := p.Stop(); err == nil || err.Error() != want {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}

// A server with a limit runs in a group of its own, which goes with it, also when somebody killed the server.
func TestLimitedServer(t *testing.T) {
	t.Parallel()
	free, err := host.NewLimit(1)
	if err != nil {
		t.Skip("no group can be made here: ", err)
	}
	if err := free.Remove(); err != nil {
		t.Fatal(err)
	}
	l, err := NewLauncher(host.Sides{})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	p, err := l.Start(t.Context(), append([]string{"limit=0.5"}, stub.Command("good")...), "/")
	if err != nil {
		t.Fatal(err)
	}
	groups, err := os.ReadFile(fmt.Sprintf("/proc/%d/cgroup", p.Pid()))
	ours, _ := os.ReadFile("/proc/self/cgroup")
	if err != nil || string(groups) == string(ours) || !strings.Contains(string(groups), "/schedlab-") {
		t.Errorf("its groups are %q (%v), want one of its own", groups, err)
	}
	environment, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", p.Pid()))
	if err != nil || strings.Contains(string(environment), "limit=") {
		t.Errorf("its environment is %q (%v), want none of the limit in it", environment, err)
	}
	if err := p.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	p.Kill()
	_, name, _ := strings.Cut(string(groups), "/schedlab-")
	name, _, _ = strings.Cut(name, "\n")
	for _, at := range []string{"/sys/fs/cgroup", "/sys/fs/cgroup/cpu"} {
		if left, _ := filepath.Glob(at + "/schedlab-" + name); left != nil {
			t.Errorf("the group %v is left", left)
		}
	}
	if _, err := l.Start(t.Context(), append([]string{"limit=half"}, stub.Command("good")...), "/"); err == nil || err.Error() != `limit "half" is not a number of CPUs, like 0.5` {
		t.Errorf("got %v of a limit that is no number", err)
	}
}

// What a server logged has nothing to do with a kill that it did not see coming.
func TestKilledServerHasNoLastWords(t *testing.T) {
	t.Parallel()
	p, err := launch(t, "good", patient, patient)
	if err != nil {
		t.Fatal(err)
	}
	if err := p.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	p.AwaitDeath()
	const want = "the server ended during its trial (signal: killed); no program can log a signal 9: it was somebody's kill -9, or the kernel when memory ran out (see dmesg)"
	if err := p.Stop(); err == nil || err.Error() != want {
		t.Errorf("got %v, want %q", err, want)
	}
}

// patient is a limit that no healthy server reaches on a busy machine.
const patient = 30 * time.Second

func TestServerAnswers(t *testing.T) {
	t.Parallel()
	p, err := launch(t, "good", patient, patient)
	if err != nil {
		t.Fatal(err)
	}
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	reply, err := client.Get("http://" + p.Addr)
	if err != nil {
		t.Fatalf("ready, and yet: %v", err)
	}
	reply.Body.Close()
	if !p.Alive() {
		t.Error("it answered and is not alive")
	}
	if text, err := p.Scrape(t.Context()); text != nil || err != nil {
		t.Errorf("a foreign server has no metrics: got %q, %v", text, err)
	}
	if err := p.Stop(); err != nil {
		t.Error(err)
	}
	if p.Alive() {
		t.Error("alive after stop")
	}
	if err, want := p.Stop(), "the server ended during its trial (signal: terminated); its log ends with: (nothing)"; err == nil || err.Error() != want {
		t.Errorf("stopping it again: got %v, want %s", err, want)
	}
}

func TestServerNeverReady(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		how   string
		limit time.Duration
		want  string
	}{
		{"fails", patient, "the server ended before it answered (exit status 3); its log ends with: no configuration"},
		{"mistyped", patient, "the server ended before it answered (exit status 2); it says: flag provided but not defined: -lisen"},
		{"panics", patient, "the server ended before it answered (exit status 2); its log ends with: panic: out of luck"},
		{"absent", 300 * time.Millisecond, "the server on ADDR is not ready: no answer within 300ms: nothing listens there; its log ends with: (nothing)"},
		{"mute", 300 * time.Millisecond, "the server on ADDR is not ready: no answer within 300ms: it does not reply; its log ends with: (nothing)"},
	} {
		t.Run(c.how, func(t *testing.T) {
			t.Parallel()
			got := ""
			// On a busy machine it may not listen yet, or another program takes the port.
			for attempt, limit := 0, c.limit; attempt < 4 && got != c.want; attempt, limit = attempt+1, min(4*limit, patient) {
				_, err := launch(t, c.how, limit, patient)
				if err == nil {
					got = "no error"
					continue
				}
				got = strings.ReplaceAll(err.Error(), "within "+limit.String(), "within "+c.limit.String())
				if before, after, ok := strings.Cut(got, "127.0.0.1:"); ok {
					got = before + "ADDR" + strings.TrimLeft(after, "0123456789")
				}
			}
			if got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
	l, err := NewLauncher(host.Sides{})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if _, err := l.Start(t.Context(), []string{"/no/such/server", cmdline.AddrMark}, "/"); !errors.Is(err, os.ErrNotExist) || !strings.Contains(err.Error(), `"/no/such/server"`) {
		t.Errorf("no such program: got %v", err)
	}
	gone := errors.New("gone")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(gone)
	if _, err := l.Start(ctx, stub.Command("absent"), "/"); !errors.Is(err, gone) {
		t.Errorf("cancelled: got %v, want %v", err, gone)
	}
}

// A server that finds its port taken, because another program got it in between, is
// started again on others; one that finds every port taken fails in the end.
func TestServerGetsAnotherPort(t *testing.T) {
	t.Parallel()
	p, err := launch(t, "late="+t.TempDir()+"/starts", patient, patient)
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Stop(); err != nil {
		t.Error(err)
	}
	starts := t.TempDir() + "/starts"
	_, err = launch(t, "homeless="+starts, patient, patient)
	const want = "the server ended before it answered (exit status 1); its log ends with: bind: Address already in use"
	if err == nil || err.Error() != want {
		t.Errorf("got %v, want %q", err, want)
	}
	if tried, err := os.ReadFile(starts); err != nil || len(tried) != portTries {
		t.Errorf("it was started %d times, %v; want %d", len(tried), err, portTries)
	}
}

func TestServerIgnoresSIGTERM(t *testing.T) {
	t.Parallel()
	p, err := launch(t, "stubborn", patient, 100*time.Millisecond)
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Stop(); err == nil || err.Error() != "the server did not end within 100ms of SIGTERM and was killed" {
		t.Errorf("got %v", err)
	}
	if p.Alive() {
		t.Error("alive after it was killed")
	}
}

// A child that holds the server's output neither hides the server's end nor
// outlives the trial.
func TestServerLeavesChild(t *testing.T) {
	t.Parallel()
	p, err := launch(t, "parent", patient, patient)
	if err != nil {
		t.Fatal(err)
	}
	var child int
	if _, err := fmt.Sscanf(string(p.Output()), "child %d\n", &child); err != nil {
		t.Fatalf("log %q: %v", p.Output(), err)
	}
	if err := p.Stop(); err != nil {
		t.Error(err)
	}
	p.Kill()
	deadline := time.Now().Add(patient)
	for running(child) {
		if time.Now().After(deadline) {
			t.Fatalf("child %d still runs", child)
		}
	}
}

// running reports whether a process is there and not a zombie.
func running(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return false
	}
	_, rest, _ := bytes.Cut(stat, []byte(") "))
	return len(rest) > 0 && rest[0] != 'Z' && rest[0] != 'X'
}

func TestServerLog(t *testing.T) {
	t.Parallel()
	p, err := launch(t, "chatty", patient, patient)
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Stop(); err != nil {
		t.Error(err)
	}
	log := p.log.Bytes()
	if len(log) != logLimit || !bytes.HasSuffix(log, []byte("x\nthe end\n")) {
		t.Errorf("kept %d bytes that end with %q, want %d and the end", len(log), log[max(0, len(log)-20):], logLimit)
	}
	for log, want := range map[string]string{
		"": "(nothing)", "\n\n": "(nothing)", "a\nb\n\n": "b",
		"panic: one\n\ngoroutine 1 [running]:\nmain.main()\n": "panic: one",
		"panic: one\nfatal error: two\nx\n":                   "fatal error: two",
		strings.Repeat("y", 3*logTail):                        strings.Repeat("y", logTail),
	} {
		if got := lastWords(log); got != want {
			t.Errorf("%.40q: got %.40q, want %.40q", log, got, want)
		}
	}
}

// A program that cannot read its command line says so before its usage, which is longer.
func TestComplaint(t *testing.T) {
	t.Parallel()
	for log, want := range map[string]string{
		"": "", "a\nb\n": "", "listen tcp: address nowhere: missing port\n": "",
		"flag provided but not defined: -lisen\nUsage of ./bad:\n  -listen string\n    \taddress\n": "flag provided but not defined: -lisen",
		"Error: unknown flag: --lisen\nUsage:\n  bad [flags]\n\nunknown flag: --lisen\n":            "Error: unknown flag: --lisen",
		"usage: bad.py [-h]\nbad.py: error: unrecognized arguments: --lisen\n":                      "bad.py: error: unrecognized arguments: --lisen",
		"bad: unrecognized option '--lisen'\nTry 'bad --help' for more information.\n":              "bad: unrecognized option '--lisen'",
		"starting\nno such word: lisen\n":                                                           "", "no such word: lisen\n\nUsage: bad WORD\n  listen\n": "no such word: lisen",
	} {
		if got := complaint(log); got != want {
			t.Errorf("%q: got %q, want %q", log, got, want)
		}
	}
}

func TestFreePorts(t *testing.T) {
	t.Parallel()
	addrs, err := freePorts(16)
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, a := range addrs {
		if seen[a] || !strings.HasPrefix(a, "127.0.0.1:") {
			t.Errorf("got %v, want distinct addresses on loopback", addrs)
		}
		if at := netip.MustParseAddrPort(a); runtime.GOOS == "linux" && at.Port() >= 32_768 {
			t.Errorf("%v may be taken by any connection before the server has it", at)
		}
		seen[a] = true
	}
}

func TestServerEnvironment(t *testing.T) {
	t.Setenv("SCHEDLAB_WORKERS", "9")
	t.Setenv("GOGC", "50")
	env := strings.Join(ServerEnv(), "\n")
	if strings.Contains(env, "SCHEDLAB_") || !strings.Contains(env, "GOGC=50") {
		t.Errorf("got %s", env)
	}
}

// A command is given its marks and variables, and its directory goes with it.
func TestMarks(t *testing.T) {
	t.Parallel()
	l, err := NewLauncher(host.Sides{})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	argv := stub.Command("good")
	told := filepath.Join(t.TempDir(), "told")
	script := fmt.Sprintf(`echo "$MARK" {host}:{port} {admin} > {dir}/x && cp {dir}/x %s && exec "$0" stub {addr} good`, told)
	p, err := l.Start(t.Context(), []string{"MARK=at {addr}", "sh", "-c", script, argv[0]}, "/")
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(told)
	if want := fmt.Sprintf("at %s %s %s\n", p.Addr, p.Addr, p.Admin); err != nil || string(text) != want || p.Admin == "" {
		t.Errorf("got %q, %v, want %q", text, err, want)
	}
	if _, err := os.Stat(filepath.Join(p.dir, "x")); err != nil {
		t.Error(err)
	}
	if err := p.Stop(); err != nil {
		t.Error(err)
	}
	p.Kill()
	if _, err := os.Stat(p.dir); !os.IsNotExist(err) {
		t.Errorf("its directory %s: got %v, want it gone", p.dir, err)
	}
}
