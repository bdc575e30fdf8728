// Package arms_test starts every program of loadtests/arms and asks it what schedlab serves.
package arms_test

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// limit is how long a program may take to start or to end on a busy machine.
const limit = 30 * time.Second

// built is the directory of the programs and of schedlab itself.
var built string

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	temp, err := os.MkdirTemp("", "arms")
	if err == nil {
		defer os.RemoveAll(temp)
		built = filepath.Join(temp, "arms")
		// bin/schedlab lies beside bin/arms.
		err = errors.Join(build(".", "./..."), build("../..", "./cmd/schedlab"), os.Symlink(filepath.Join(built, "schedlab"), filepath.Join(temp, "schedlab")))
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return m.Run()
}

func build(module, packages string) error {
	cmd := exec.Command("go", "build", "-o", built+string(filepath.Separator), packages)
	cmd.Dir = module
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("building %s in %s: %w\n%s", packages, module, err, out)
	}
	return nil
}

// starting is held from the choice of a free port until a program listens there: else two tests at a
// time could choose the same.
var starting sync.Mutex

// start runs a program of built at an address that was free, until the test ends. It must
// then end at SIGTERM with exit code 0. It returns the program's URL.
func start(t *testing.T, command string) string {
	t.Helper()
	url, _ := startAdmin(t, command)
	return url
}

// startAdmin is start for a program that has an {admin} address, too. It returns both URLs.
func startAdmin(t *testing.T, command string) (url, admin string) {
	t.Helper()
	starting.Lock()
	defer starting.Unlock()
	var free [2]net.Listener
	for i := range free {
		var err error
		if free[i], err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
			t.Fatal(err)
		}
	}
	addr, admin := free[0].Addr().String(), free[1].Addr().String()
	free[0].Close()
	free[1].Close()
	host, port, _ := net.SplitHostPort(addr)
	words := strings.Fields(strings.NewReplacer("{addr}", addr, "{host}", host, "{port}", port, "{admin}", admin).Replace(command))
	if !filepath.IsAbs(words[0]) {
		words[0] = filepath.Join(built, words[0])
	}
	cmd := exec.Command(words[0], words[1:]...)
	var said strings.Builder
	cmd.Stdout, cmd.Stderr = &said, &said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	t.Cleanup(func() {
		cmd.Process.Signal(syscall.SIGTERM)
		select {
		case err := <-ended:
			if err != nil {
				t.Errorf("%s at SIGTERM: %v\n%s", command, err, &said)
			}
		case <-time.After(limit):
			cmd.Process.Kill()
			t.Errorf("%s did not end within %v of SIGTERM", command, limit)
		}
	})
	for began := time.Now(); ; time.Sleep(10 * time.Millisecond) {
		if c, err := net.Dial("tcp", addr); err == nil {
			c.Close()
			if c.LocalAddr().String() != addr { // a connection to itself, of a port that nobody listens on
				return "http://" + addr, "http://" + admin
			}
		}
		if time.Since(began) > limit {
			t.Fatalf("%s does not listen after %v", command, limit)
		}
	}
}

// ask returns what a comparison can see of an answer.
func ask(t *testing.T, url, request string) string {
	t.Helper()
	method, target, _ := strings.Cut(request, " ")
	target, body, _ := strings.Cut(target, " ")
	req, err := http.NewRequest(method, url+target, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	out, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	_, err = http.ParseTime(res.Header.Get("Date"))
	return fmt.Sprintf("%d, %d bytes, Content-Type %q, Server %q, Allow %q, dated %v, closes %v\n%s", res.StatusCode, res.ContentLength,
		res.Header.Get("Content-Type"), res.Header.Get("Server"), res.Header.Get("Allow"), err == nil, res.Close, out)
}

var requests = []string{
	"GET /", "GET /plaintext", "HEAD /plaintext", "POST /plaintext x", "GET /json",
	"GET /work?iters=1000", "GET /work?cpu=20us", "GET /work?sleep=1ms", "GET /work?cpu=2s", "GET /work?iters=1000&sleep=0.5*0s+0.5*1ms&seed=3",
	"POST /echo hello", "POST /echo " + strings.Repeat("e", 100_000), "GET /bytes/70000", "GET /nowhere",
	"PUT /kv/a%2Fb value", "GET /kv/a%2Fb", "GET /kv/absent", "DELETE /kv/a%2Fb",
}

// answering are the programs that answer requests under way when they end.
var answering = []string{
	"ants", "chi", "echo", "fiber", "gin", "hertz", "pond",
	"serve -recipe nethttp", "serve -recipe nethttp-gate", "serve -recipe fasthttp", "serve -recipe goroutine",
	"serve -recipe nethttp -heap 10", "serve -recipe nethttp -heavy 1", "serve -recipe nethttp -yield", "serve -recipe reuseport", "serve -recipe semaphore", "serve -recipe pool", "serve -recipe pool-request",
}

// Every program answers as schedlab does, twice on a kept connection, and ends at SIGTERM.
func TestAnswersAreSchedlabs(t *testing.T) {
	const iters = "100" // iterations per microsecond: what 2s of CPU time is too much of is the same for all
	schedlab := start(t, "schedlab serve --mode nethttp --admin off --iters "+iters+" --addr {addr}")
	want := map[string]string{}
	for _, request := range requests {
		want[request] = ask(t, schedlab, request)
	}
	for _, program := range slices.Concat(answering, []string{"gnet", "gnet -offload", "nbio"}) {
		t.Run(program, func(t *testing.T) {
			t.Parallel()
			url := start(t, program+" -listen {addr}")
			for range 2 {
				for _, request := range requests {
					if got := ask(t, url, request); got != want[request] {
						t.Errorf("%.60s: got %.200s\nwant %.200s", request, got, want[request])
					}
				}
			}
		})
	}
}

// A pool without a worker, which ants and pond take for one without a limit, is refused.
func TestPoolsNeedAWorker(t *testing.T) {
	for _, program := range []string{"ants", "pond"} {
		for _, workers := range []string{"0", "-1", "x"} {
			t.Run(program+workers, func(t *testing.T) {
				t.Parallel()
				out, err := exec.Command(filepath.Join(built, program), "-listen", "127.0.0.1:0", "-workers", workers).CombinedOutput()
				if exit, ok := errors.AsType[*exec.ExitError](err); !ok || exit.ExitCode() != 2 || !strings.HasPrefix(string(out), fmt.Sprintf("invalid value %q for flag -workers: ", workers)) {
					t.Errorf("got %v, want exit code 2 and the flag:\n%s", err, out)
				}
			})
		}
	}
}

// A request that is under way at SIGTERM is answered. gnet and nbio close their connections
// instead, as docs/guide/ready-arms.md says.
func TestRequestsUnderWayAreAnsweredAtTheEnd(t *testing.T) {
	for _, program := range answering {
		t.Run(program, func(t *testing.T) {
			t.Parallel()
			answered := make(chan error, 1)
			t.Cleanup(func() { // after start's: the program has ended
				if err := <-answered; err != nil {
					t.Error(err)
				}
			})
			url := start(t, program+" -listen {addr}")
			go func() {
				res, err := http.Get(url + "/work?sleep=700ms")
				if err == nil {
					res.Body.Close()
				}
				answered <- err
			}()
			time.Sleep(200 * time.Millisecond) // until the request is under way
		})
	}
}

// The scenarios of this directory are ones that compare takes, where 'make arms' has built.
func TestScenariosAreRead(t *testing.T) {
	t.Parallel()
	loadtests, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	root := t.TempDir() // as the repository's, with the programs of this test
	for link, to := range map[string]string{"bin": filepath.Dir(built), "loadtests": loadtests} {
		if err := os.Symlink(to, filepath.Join(root, link)); err != nil {
			t.Fatal(err)
		}
	}
	// The build without Green Tea is only looked for, so any program does.
	if err := os.Symlink("serve", filepath.Join(built, "serve-no-green-tea")); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"plaintext", "cpu", "sleep", "serve/gc", "serve/gc-large", "serve/gc-seldom", "relay/round-trip-order", "relay/round-trip-hand-off", "relay/round-trip-keep-alive"} {
		cmd := exec.Command(filepath.Join(built, "schedlab"), "scenarios", "./loadtests/arms/"+name+".yaml")
		cmd.Dir = root
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%s.yaml: %v\n%s", name, err, out)
		}
	}
}

// What native starts answers as schedlab does; the Date and Server fields and the methods are its own.
func TestNativeAnswersAreSchedlabs(t *testing.T) {
	t.Parallel()
	for _, server := range []string{"nginx", "h2o"} {
		t.Run(server, func(t *testing.T) {
			t.Parallel()
			if _, err := exec.LookPath(server); err != nil {
				t.Skipf("%v: install Debian's package", err)
			}
			native, err := filepath.Abs("native")
			if err != nil {
				t.Fatal(err)
			}
			url := start(t, native+" "+server+" {host} {port} "+t.TempDir())
			for path, want := range map[string]string{"/plaintext": "Hello, World!", "/json": `{"message":"Hello, World!"}`} {
				if got := ask(t, url, "GET "+path); !strings.HasPrefix(got, "200") || !strings.HasSuffix(got, "\n"+want) {
					t.Errorf("%s: got %s, want %s", path, got, want)
				}
			}
		})
	}
}
