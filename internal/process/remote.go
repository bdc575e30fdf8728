package process

import "context"

// A Remote is a server that was started on another machine. It need not answer yet.
type Remote struct {
	Addr  string // host:port of the service
	Admin string // host:port of the admin side, "" without one
	// Stop lets the server drain and end. The error is about a server that had ended by itself.
	Stop func() error
	Kill func()        // ends the server at once, if it is still there
	Log  func() []byte // the end of what it wrote
}

// startElsewhere has the server started on another machine, and waits until it replies.
func (l *Launcher) startElsewhere(ctx context.Context, argv []string, path string) (*Process, error) {
	r, err := l.Elsewhere(ctx, argv)
	if err != nil {
		return nil, err
	}
	p := l.process(r.Addr)
	p.Admin, p.remote = r.Admin, r
	if err := p.ready(ctx, path); err != nil {
		r.Kill()
		return nil, err
	}
	p.ShowsMetrics("")
	return p, nil
}
