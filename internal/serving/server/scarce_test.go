package server

import (
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"schedlab/internal/serving/model"
)

// scarceMode names, in the environment, the mode that this binary is to serve with
// few descriptors, instead of running tests.
const scarceMode = "SCHEDLAB_TEST_SCARCE_MODE"

const (
	scarceFiles = 128
	scarceCrowd = 400
)

// serveScarce serves until its standard input ends, and prints its addresses.
func serveScarce(mode string) error {
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: scarceFiles, Max: scarceFiles}); err != nil {
		return err
	}
	s, err := New(testConfig(mode))
	if err != nil {
		return err
	}
	if err := s.Listen(context.Background()); err != nil {
		return err
	}
	fmt.Println(s.ln.Addr(), s.admin.ln.Addr())
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		io.Copy(io.Discard, os.Stdin)
		cancel()
	}()
	return s.Serve(ctx)
}

// With more clients than descriptors the admin listener answers, in every mode,
// and when they go so does the other.
func TestAdminAnswersWithoutDescriptors(t *testing.T) {
	t.Parallel()
	for _, mode := range model.Variants() {
		t.Run(mode.Name, func(t *testing.T) {
			t.Parallel()
			addr, admin := startScarce(t, mode.Name)
			client := browser(t)
			client.Timeout = 5 * time.Second
			served := func() bool {
				res, err := client.Get("http://" + addr + "/plaintext")
				if err != nil {
					return false
				}
				res.Body.Close()
				return res.StatusCode == 200
			}
			eventually(t, "a first answer", served) // prefork's children take their time
			client.CloseIdleConnections()
			var crowd []net.Conn
			for range scarceCrowd {
				c, err := net.DialTimeout("tcp", addr, soon)
				if err != nil {
					t.Fatal(err)
				}
				defer c.Close()
				crowd = append(crowd, c)
			}
			for _, page := range []string{"/healthz", "/metrics"} {
				res, err := client.Get("http://" + admin + page)
				if err != nil {
					t.Errorf("%s among the crowd: %v", page, err)
					continue
				}
				if _, err := io.Copy(io.Discard, res.Body); err != nil || res.StatusCode != 200 {
					t.Errorf("%s among the crowd: got %d %v, want 200", page, res.StatusCode, err)
				}
				res.Body.Close()
			}
			for _, c := range crowd {
				c.Close()
			}
			eventually(t, "an answer after the crowd", served)
		})
	}
}

// startScarce runs the mode in a process of its own until the test ends.
func startScarce(t *testing.T, mode string) (addr, admin string) {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(exe)
	cmd.Env = append(os.Environ(), scarceMode+"="+mode)
	cmd.Stderr = t.Output()
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		in.Close()
		if err := cmd.Wait(); err != nil {
			t.Errorf("the server ended with %v", err)
		}
	})
	if _, err := fmt.Fscanln(out, &addr, &admin); err != nil {
		t.Fatalf("reading the addresses: %v", err)
	}
	return addr, admin
}
