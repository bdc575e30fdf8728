package load

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"strings"
	"testing"

	"go.uber.org/goleak"
)

// serveEnv makes the test binary a bare server, so that a benchmark can take
// its own CPU time for the generator's.
const serveEnv = "SCHEDLAB_LOAD_TEST_SERVER"

func TestMain(m *testing.M) {
	if os.Getenv(serveEnv) != "" {
		bareServer()
		return
	}
	if url := os.Getenv(generatorEnv); url != "" {
		generator(url)
		return
	}
	goleak.VerifyTestMain(m)
}

// bareServer answers every request alike and parses none: it ends when its
// standard input does.
func bareServer() {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Println(l.Addr())
	go func() {
		for {
			nc, err := l.Accept()
			if err != nil {
				return
			}
			go answerAll(nc, plainReply)
		}
	}()
	io.Copy(io.Discard, os.Stdin)
}

const plainReply = "HTTP/1.1 200 OK\r\nServer: bare\r\nDate: Sat, 21 Nov 2026 08:00:00 GMT\r\nContent-Type: text/plain\r\nContent-Length: 13\r\n\r\nHello, World!"

const spinOK = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"

// answerAll answers every end of a request head; requests have no body.
func answerAll(nc net.Conn, answer string) {
	defer nc.Close()
	end := []byte("\r\n\r\n")
	buf := make([]byte, 4096)
	held := 0 // bytes of an end that may go on in the next read
	for {
		n, err := nc.Read(buf[held:])
		if err != nil {
			return
		}
		text := buf[:held+n]
		if heads := bytes.Count(text, end); heads > 0 {
			if _, err := io.WriteString(nc, strings.Repeat(answer, heads)); err != nil {
				return
			}
			text = text[bytes.LastIndex(text, end)+len(end):]
		}
		held = copy(buf, text[max(0, len(text)-len(end)+1):])
	}
}

// startBareServer runs bareServer in a process of its own and returns its URL.
func startBareServer(tb testing.TB) string {
	tb.Helper()
	exe, err := os.Executable()
	if err != nil {
		tb.Fatal(err)
	}
	cmd := exec.Command(exe)
	cmd.Env = append(os.Environ(), serveEnv+"=1", "GOMAXPROCS=1")
	cmd.Stderr = os.Stderr
	stdin, err := cmd.StdinPipe()
	if err != nil {
		tb.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		tb.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		stdin.Close()
		cmd.Wait()
	})
	addr, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil {
		tb.Fatal(err)
	}
	return "http://" + strings.TrimSpace(addr) + "/"
}
