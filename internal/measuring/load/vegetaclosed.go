package load

import (
	"context"
	"sync"
	"time"
)

// closedVegeta runs Closed over the connections of the engine vegeta, a goroutine for each client. It measures what servers
// can do that spin does not speak to; so its clients send as soon as they can, and have none of spin's other settings.
func closedVegeta(ctx context.Context, o Options, requests *script) (ClosedResult, error) {
	conns, err := newConnections(o.Clients)
	if err != nil {
		return ClosedResult{}, err
	}
	defer conns.close()
	sending, stop := context.WithCancel(ctx)
	defer stop()
	l := vegetaClosed{
		a:   &vegetaAttack{Options: &o, ctx: sending, script: requests, conns: conns, res: &Result{Start: time.Now()}},
		log: newRequestLog(o.Connections),
	}
	if o.Started != nil {
		o.Started(l.a.res.Start)
	}
	proof := measureProcess()
	var clients sync.WaitGroup
	for i := range o.Connections {
		clients.Go(func() { l.run(int32(i)) })
	}
	// Moments come from this goroutine, and the last wait ends the loop.
	for i, at := range o.Moments {
		if !l.a.sleepUntil(at) {
			break
		}
		o.Moment(i)
	}
	l.a.sleepUntil(o.Warmup + o.Duration)
	took, measured := time.Since(l.a.res.Start), proof()
	stop()
	clients.Wait()
	if o.Closing != nil {
		o.Closing()
	}
	res := tallied(l.log, requests, &o, took)
	res.Start = l.a.res.Start
	l.a.count(&res.Result)
	for _, r := range res.Requests {
		measured.count(r)
	}
	res.Proof = measured
	return res, ctx.Err()
}

// A vegetaClosed is a closed loop under way. Its clients share the log.
type vegetaClosed struct {
	a   *vegetaAttack
	mu  sync.Mutex
	log *requestLog
}

// run sends the requests of one client until the attack's context ends.
func (l *vegetaClosed) run(client int32) {
	since := func() int64 { return int64(time.Since(l.a.res.Start)) }
	for l.a.ctx.Err() == nil {
		l.mu.Lock()
		seq, e := l.log.add()
		e.sent, e.conn = since(), client
		e.due = e.sent
		l.mu.Unlock()
		_, ended, stamps, _ := l.a.ask(seq)
		l.mu.Lock()
		e.done, e.outcome, e.status, e.bytes = since(), ended.Outcome, ended.Status, ended.Bytes
		e.ready, e.wrote, e.first = stamps.Ready, stamps.Wrote, stamps.First
		l.mu.Unlock()
		if stamps.Ready == 0 { // it got no connection
			time.Sleep(dialPause)
		}
	}
}
