// Package ui serves the pages of `schedlab ui`: a form that starts a comparison, the comparison that
// runs, and the runs that are recorded. It measures nothing. A comparison is a separate process,
// `schedlab order`, which does what `schedlab compare` does, so that it is measured and recorded the same way.
//
// The files: server.go is who may ask what; form.go makes a request of the form, and shows its plan and its mistakes;
// queue.go runs the comparisons, one at a time; list.go reads the recorded runs, and example.go has
// what is shown where there is none; pages.go answers, with the templates in pages.html, form.html and list.html.
//
// While a window is measured, this package does nothing unless a browser asks. It has no clock: browsers get
// news when the comparison writes a line of progress, which it does between windows.
package ui

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strconv"
	"sync"
	"time"

	"schedlab/internal/capabilities/session"
	"schedlab/internal/measuring/report/document"
)

// A Config is what a Server needs to know. Carry is the command line of the process that carries out a
// [session.Order], which it reads from its standard input. Base is the request that the form changes: what the user's
// environment sets.
type Config struct {
	Root          string // directory of the records
	Carry         []string
	Base          session.Compare
	Program       session.Program // which carries them out
	Scenarios     []Group         // the form's choice
	Modes         []Mode
	AllowCommands bool      // arms may be commands, addresses or have variables of the environment
	Out           io.Writer // gets the address with its token, again after each use
}

// A Server serves the pages. Make it with New, and call Serve once.
type Server struct {
	Config
	addr            netip.AddrPort
	session, action string // what the cookie and each form must have
	cross           *http.CrossOriginProtection
	streams         chan struct{} // one element for each browser that watches

	mu      sync.Mutex
	entry   string        // token for the next browser
	jobs    []*job        // the oldest first; keepEnded limits the ones that have ended
	changed chan struct{} // closed and replaced when a job has changed
	drawn   string        // the jobs as they are now, as an event; "" if not drawn yet
	ends    int           // jobs that have run to their end

	past sync.Map // of runs.Run, by name: runs that have ended

	cookie string // the name of the cookie
}

const (
	maxStreams = 32             // browsers that watch at a time
	maxForm    = 64 << 10       // bytes of a form
	maxHead    = 16 << 10       // bytes of a request's head
	cookieName = "schedlab-ui-" // and the port: browsers send a cookie to all ports of an address
	// stopWithin is how long a comparison may take to judge and record its blocks after Ctrl-C.
	stopWithin = time.Minute
)

// New returns a server for a listener.
func New(c Config, ln net.Listener) (*Server, error) {
	addr, err := netip.ParseAddrPort(ln.Addr().String())
	if err != nil {
		return nil, fmt.Errorf("listening on %s: %w", ln.Addr(), err)
	}
	return &Server{
		Config: c, addr: addr, session: rand.Text(), action: rand.Text(), entry: rand.Text(), cross: http.NewCrossOriginProtection(),
		streams: make(chan struct{}, maxStreams), changed: make(chan struct{}), cookie: cookieName + strconv.Itoa(int(addr.Port())),
	}, nil
}

// Serve serves until ctx ends. Then the comparison that runs is stopped as by Ctrl-C, and Serve returns
// when it has ended. Comparisons that wait are not started.
func (s *Server) Serve(ctx context.Context, ln net.Listener) error {
	base, drop := context.WithCancel(context.WithoutCancel(ctx))
	defer drop()
	server := &http.Server{
		Handler: s.Handler(), BaseContext: func(net.Listener) context.Context { return base },
		ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 10 * time.Second, WriteTimeout: 30 * time.Second, IdleTimeout: time.Minute, MaxHeaderBytes: maxHead,
	}
	ctx, cancel := context.WithCancel(ctx)
	var work sync.WaitGroup
	work.Go(func() { s.work(ctx) })
	failed := make(chan error, 1)
	go func() { failed <- server.Serve(ln) }()
	s.tellEntry()
	var err error
	select {
	case <-ctx.Done():
	case err = <-failed:
	}
	cancel()
	work.Wait() // browsers see the end
	drop()
	return errors.Join(err, server.Close())
}

// tellEntry prints the address that lets one browser in. s.mu is not held.
func (s *Server) tellEntry() {
	s.mu.Lock()
	defer s.mu.Unlock()
	fmt.Fprintf(s.Out, "http://%s/?token=%s\n", s.addr, s.entry)
}

// policy is the Content-Security-Policy of every page but a report: nothing from elsewhere, and neither
// script nor style within a page. reportPolicy adds to the policy that a report has itself: its script
// runs as if from another site, so that not even a report can start anything here.
const (
	policy       = "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; img-src data:; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
	reportPolicy = "sandbox allow-scripts allow-popups; form-action 'none'; base-uri 'none'; frame-ancestors 'none'"
)

// Handler returns the pages behind their guard. A request must name the address listened on as its Host
// (else a foreign name might point here), and have the cookie; the token in the printed address gets a
// browser the cookie, once. An action must also come from one of our pages, and have the forms' token.
//
// The cookie is SameSite=Lax. A report is sandboxed, so a browser takes its links for those of another site, and would send no Strict
// cookie with them. With Lax other sites can link to our pages, but neither read them nor act: that needs the forms' token.
func (s *Server) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, _ *http.Request) { s.first(w, form{config: &s.Config}) })
	mux.HandleFunc("GET /events", s.events)
	mux.HandleFunc("GET /beside", s.beside)
	mux.HandleFunc("GET /example/{$}", s.example)
	mux.HandleFunc("GET /runs/{name}/{$}", s.report)
	mux.HandleFunc("GET /runs/{name}/why.html", s.report)
	mux.HandleFunc("GET /runs/{name}/again", s.again)
	mux.HandleFunc("GET /style.css", asset("text/css; charset=utf-8", string(document.Style())+style+formStyle))
	mux.HandleFunc("GET /details.js", asset("text/javascript; charset=utf-8", document.DetailsScript()))
	mux.HandleFunc("GET /live.js", asset("text/javascript; charset=utf-8", script))
	mux.HandleFunc("GET /form.js", asset("text/javascript; charset=utf-8", formScript))
	mux.HandleFunc("POST /plan", s.plan)
	mux.HandleFunc("POST /start", s.start)
	mux.HandleFunc("POST /stop", s.stop)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for name, value := range map[string]string{
			"Content-Security-Policy": policy, "X-Content-Type-Options": "nosniff", "Referrer-Policy": "same-origin", "Cache-Control": "no-store",
			"Cross-Origin-Opener-Policy": "same-origin", "Cross-Origin-Resource-Policy": "same-origin",
		} {
			w.Header().Set(name, value)
		}
		token := r.URL.Query().Get("token")
		switch cookie, err := r.Cookie(s.cookie); {
		case !s.isHere(r.Host):
			s.refuse(w, http.StatusMisdirectedRequest, "This is not the address that schedlab ui listens on. Open the one it printed.")
			return
		case r.Method == http.MethodGet && r.URL.Path == "/" && token != "" && s.enter(token):
			http.SetCookie(w, &http.Cookie{Name: s.cookie, Value: s.session, Path: "/", HttpOnly: true, SameSite: http.SameSiteLaxMode})
			http.Redirect(w, r, "/", http.StatusSeeOther)
			s.tellEntry()
			return
		case err != nil || !same(cookie.Value, s.session):
			s.refuse(w, http.StatusForbidden, "This browser is not let in. Open the newest address that schedlab ui printed; each lets in one browser.")
			return
		}
		if r.Method != http.MethodGet && r.Method != http.MethodHead {
			r.Body = http.MaxBytesReader(w, r.Body, maxForm)
			switch {
			case s.cross.Check(r) != nil:
				s.refuse(w, http.StatusForbidden, "This was sent by a page of another site.")
				return
			case r.ParseForm() != nil:
				s.refuse(w, http.StatusBadRequest, "The form cannot be read, or is too large.")
				return
			case !same(r.PostForm.Get("token"), s.action):
				s.refuse(w, http.StatusForbidden, "This form is not from the program that runs now. Reload the page and send it again.")
				return
			}
		}
		mux.ServeHTTP(w, r)
	})
}

// isHere reports whether a Host is the address listened on. Where that is every address of the machine, it
// may be any address, but no name: a name might be made to point here by somebody else.
func (s *Server) isHere(host string) bool {
	name, port, err := net.SplitHostPort(host)
	if err != nil || port != fmt.Sprint(s.addr.Port()) {
		return false
	}
	ip, err := netip.ParseAddr(name)
	if err != nil {
		return name == "localhost" && (s.addr.Addr().IsLoopback() || s.addr.Addr().IsUnspecified())
	}
	return ip == s.addr.Addr() || s.addr.Addr().IsUnspecified()
}

// enter takes the token of the printed address, once, and makes another.
func (s *Server) enter(token string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !same(token, s.entry) {
		return false
	}
	s.entry = rand.Text()
	return true
}

// same compares two secrets in a time that tells nothing about them.
func same(a, b string) bool { return subtle.ConstantTimeCompare([]byte(a), []byte(b)) == 1 }

// Every page has these styles, after the style sheet of reports, and the first page both scripts.
//
//go:embed ui.css
var style string

//go:embed form.css
var formStyle string

//go:embed live.js
var script string

//go:embed form.js
var formScript string

func asset(kind, text string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", kind)
		_, _ = io.WriteString(w, text)
	}
}
