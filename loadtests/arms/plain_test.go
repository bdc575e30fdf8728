package arms_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// plain serves with either library, ends at SIGTERM by each way to stop, and refuses what it does not know.
func TestPlain(t *testing.T) {
	t.Parallel()
	for _, server := range []string{"nethttp", "fasthttp"} {
		for _, stop := range []string{"shutdown", "wait", "tell"} {
			t.Run(server+" "+stop, func(t *testing.T) {
				t.Parallel()
				url := start(t, "plain -listen {addr} -server "+server+" -stop "+stop)
				for path, want := range map[string]int{"/small": 3, "/large": 1 << 20} {
					res, err := http.Post(url+path, "text/plain", strings.NewReader("body"))
					if err != nil {
						t.Fatal(err)
					}
					got, err := io.ReadAll(res.Body)
					res.Body.Close()
					if err != nil || len(got) != want || res.StatusCode != http.StatusOK || res.Close {
						t.Errorf("%s: got %d bytes, %s, closes %v, error %v, want %d bytes of a kept connection", path, len(got), res.Status, res.Close, err, want)
					}
				}
			})
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	for _, wrong := range []string{
		"-server gin", "-server fasthttp -stop off", "-stop soon",
		"-server fasthttp -tls h2", "-tls h3", "-h2c -tls h2", "-server fasthttp -h2c",
	} {
		err := exec.CommandContext(ctx, filepath.Join(built, "plain"), append(strings.Fields(wrong), "-listen", "127.0.0.1:0")...).Run()
		if failed, ok := errors.AsType[*exec.ExitError](err); !ok || failed.ExitCode() != 1 {
			t.Errorf("plain %s: got %v, want exit code 1", wrong, err)
		}
	}
}
