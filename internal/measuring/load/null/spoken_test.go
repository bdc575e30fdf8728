package null

import (
	"context"
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"testing"

	"schedlab/internal/shared/selfsigned"
)

// The null server speaks what the load does, and ends with its context.
func TestServeSpoken(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		secure, http2 bool
		proto         string
	}{"https": {true, false, "HTTP/1.1"}, "h2": {true, true, "HTTP/2.0"}, "h2c": {false, true, "HTTP/2.0"}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ln, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			ctx, stop := context.WithCancel(t.Context())
			ended := make(chan error, 1)
			var own *tls.Certificate
			if c.secure {
				id := selfsigned.New(t)
				own = &id.Pair
			}
			go func() { ended <- ServeSpoken(ctx, ln, own, c.http2) }()
			by := &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, Protocols: new(http.Protocols)}
			by.Protocols.SetHTTP1(!c.http2)
			by.Protocols.SetHTTP2(c.http2 && c.secure)
			by.Protocols.SetUnencryptedHTTP2(c.http2 && !c.secure)
			url := "http://" + ln.Addr().String()
			if c.secure {
				url = "https://" + ln.Addr().String()
			}
			for range 3 {
				reply, err := (&http.Client{Transport: by}).Get(url)
				if err != nil {
					t.Fatal(err)
				}
				body, err := io.ReadAll(reply.Body)
				if reply.Body.Close(); err != nil || reply.Proto != c.proto || string(body) != "ok\n" {
					t.Errorf("got %s with %q and %v, want ok in %s", reply.Proto, body, err, c.proto)
				}
			}
			by.CloseIdleConnections()
			stop()
			if err := <-ended; err != nil {
				t.Errorf("got %v at its end", err)
			}
		})
	}
}
