package model

import (
	"context"
	"log/slog"
	"net/http"
	"testing"

	"schedlab/internal/shared/workload"
)

// BenchmarkFraming is what looking at the lines of a connection costs a request.
func BenchmarkFraming(b *testing.B) {
	head := []byte(usualHead)
	for b.Loop() {
		var f framing
		f.scan(head)
	}
}

// A deafWriter takes an answer and keeps nothing.
type deafWriter struct{ header http.Header }

func (w *deafWriter) Header() http.Header         { return w.header }
func (w *deafWriter) Write(p []byte) (int, error) { return len(p), nil }
func (w *deafWriter) WriteHeader(int)             {}

// BenchmarkNethttpHandler is what a request costs between net/http and its socket,
// the handler included and without either.
func BenchmarkNethttpHandler(b *testing.B) {
	m := newNethttp(Config{
		Limits: DefaultLimits(),
		Handle: workload.New(workload.Options{ItersPerMicro: 1000}).Serve,
		Log:    slog.New(slog.DiscardHandler),
	}).(*nethttpModel)
	c := &Conn{entry: entry{listener: &Listener{}}}
	ctx := m.server.ConnContext(context.Background(), c)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	ctx, cancel = context.WithCancel(ctx)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, "GET", "/plaintext", nil)
	if err != nil {
		b.Fatal(err)
	}
	r.RequestURI = "/plaintext"
	r.Header = http.Header{"User-Agent": {"Go-http-client/1.1"}, "Accept-Encoding": {"gzip"}}
	w := &deafWriter{header: http.Header{}}
	b.ReportAllocs()
	for b.Loop() {
		clear(w.header)
		m.ServeHTTP(w, r)
		m.track(c, http.StateIdle)
	}
}
