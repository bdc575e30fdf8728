package server

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"io"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"schedlab/internal/serving/model"
)

// certificate writes a certificate for 127.0.0.1 that is signed by itself, and its key.
func certificate(t *testing.T) (cert, key string, roots *x509.CertPool) {
	t.Helper()
	own, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	form := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, form, form, &own.PublicKey, own)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(own)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	cert, key = filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	for file, block := range map[string]*pem.Block{cert: {Type: "CERTIFICATE", Bytes: der}, key: {Type: "PRIVATE KEY", Bytes: secret}} {
		if err := os.WriteFile(file, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	roots = x509.NewCertPool()
	text, err := os.ReadFile(cert)
	if err != nil || !roots.AppendCertsFromPEM(text) {
		t.Fatal(err)
	}
	return cert, key, roots
}

// Modes that speak TLS answer over it as without, and over HTTP/2 where their stack is net/http's, with every connection
// counted, and refuse a client without TLS.
func TestModesSpeakTLS(t *testing.T) {
	t.Parallel()
	cert, key, roots := certificate(t)
	for _, m := range model.Modes() {
		if !m.Has("tls-cert") {
			continue
		}
		for _, http2 := range []bool{false, true} {
			if http2 && m.Axes.Stack != "nethttp" {
				continue
			}
			t.Run(m.Name+map[bool]string{true: " h2"}[http2], func(t *testing.T) {
				t.Parallel()
				cfg := Default()
				cfg.Mode, cfg.Addr, cfg.Admin, cfg.TLSCert, cfg.TLSKey, cfg.Iters, cfg.Stamps = m.Name, "127.0.0.1:0", "off", cert, key, 1, "basic"
				cfg.DrainGrace = 20 * time.Millisecond
				if m.Has("workers") {
					cfg.Workers = 64
				}
				s, err := New(cfg)
				if err != nil {
					t.Fatal(err)
				}
				if err := s.Listen(t.Context()); err != nil {
					t.Fatal(err)
				}
				ctx, stop := context.WithCancel(t.Context())
				ended := make(chan error, 1)
				go func() { ended <- s.Serve(ctx) }()
				by := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}, Protocols: new(http.Protocols)}
				by.Protocols.SetHTTP1(!http2)
				by.Protocols.SetHTTP2(http2)
				client, url := &http.Client{Transport: by, Timeout: 5 * time.Second}, "https://"+s.ln.Addr().String()
				var all sync.WaitGroup
				for i := range 40 {
					all.Go(func() {
						method, path, body := "GET", "/work?sleep=5ms", ""
						if i%4 == 0 {
							method, path, body = "PUT", "/kv/a", strings.Repeat("x", 50_000)
						}
						req, err := http.NewRequestWithContext(t.Context(), method, url+path, strings.NewReader(body))
						if err != nil {
							t.Error(err)
							return
						}
						reply, err := client.Do(req)
						if err != nil {
							t.Errorf("%s %s: %v", method, path, err)
							return
						}
						defer reply.Body.Close()
						if _, err := io.Copy(io.Discard, reply.Body); err != nil || reply.StatusCode > 299 || (reply.ProtoMajor == 2) != http2 {
							t.Errorf("%s %s: %s %s, %v", method, path, reply.Proto, reply.Status, err)
						}
					})
				}
				all.Wait()
				// A client without TLS is refused, and counted as any other connection.
				if reply, err := http.Get("http://" + s.ln.Addr().String()); err == nil {
					if reply.Body.Close(); reply.StatusCode != http.StatusBadRequest {
						t.Errorf("a client without TLS got %s, want it refused", reply.Status)
					}
				}
				// The connections are idle now, and kept: a drain closes them at once and drops none.
				began := time.Now()
				stop()
				if err := <-ended; err != nil {
					t.Error(err)
				}
				if took := time.Since(began); took > 3*time.Second {
					t.Errorf("the drain took %v with idle connections alone", took)
				}
				c := s.ln.Counts()
				if dropped := c.Dropped[model.DrainTimeout]; c.Open != 0 || c.Accepted == 0 || c.Accepted != c.Done || dropped > 0 {
					t.Errorf("counted %+v; want all done", c)
				}
				by.CloseIdleConnections()
			})
		}
	}
}

// Half of what TLS needs, or files that are none, are refused by name.
func TestTLSNeedsBothFiles(t *testing.T) {
	t.Parallel()
	cert, key, _ := certificate(t)
	for want, c := range map[string]struct{ mode, cert, key string }{
		"belong together":                     {"nethttp", cert, ""},
		"--tls-cert: reading the certificate": {"fasthttp", key, cert},
		"--tls-cert means nothing to --mode pool; it belongs to --mode nethttp, nethttp-gate, goroutine, fasthttp, semaphore": {"pool", cert, key},
	} {
		cfg := Default()
		cfg.Mode, cfg.TLSCert, cfg.TLSKey, cfg.Iters = c.mode, c.cert, c.key, 1
		_, err := New(cfg)
		var bad *ConfigError
		if !errors.As(err, &bad) || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}
