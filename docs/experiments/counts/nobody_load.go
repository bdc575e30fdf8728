package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"iter"
	"net"
	"net/http"
	"slices"
	"sync"
	"time"

	"schedlab/internal/shared/stats"
)

// serveStall serves what a caller asks: each request is answered after askedTime, but those of the stall when it ends. The
// caller calls stop, which closes the server and returns when Serve has; a handler ends with its connection.
func serveStall(l net.Listener, from, to time.Time) (stop func() error) {
	s := &http.Server{Handler: http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		wait := askedTime
		if now := time.Now(); !now.Before(from) && now.Before(to) {
			wait = to.Sub(now)
		}
		end := time.NewTimer(wait)
		defer end.Stop()
		select {
		case <-end.C:
		case <-r.Context().Done():
		}
	})}
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(l) }()
	return func() error {
		err := s.Close()
		if served := <-ended; !errors.Is(served, http.ErrServerClosed) {
			err = errors.Join(err, served)
		}
		return err
	}
}

// An ending is how a request ended for its client.
type ending int

const (
	tookAnswer ending = iota // with status 200
	gotRefusal               // with another status
	leftWithout
	lostAnswer
)

// A reply is what came of a request.
type reply struct {
	due, ended time.Duration // from the round's beginning
	how        ending
	err        error // of lostAnswer
}

// stayLimit is the patience of clients that stay.
const stayLimit = 20 * time.Second

// load sends a request at each of the due times and returns what came of each, in the order in which they ended. A client
// that leaves closes its connection.
func (c *nobodyCell) load(ctx context.Context, addr string, began time.Time, due iter.Seq[time.Duration]) (replies []reply) {
	t, _ := transportFor(plainHTTP)
	t.MaxIdleConnsPerHost = 1 << 14 // above the requests of a round
	defer t.CloseIdleConnections()
	client := &http.Client{Transport: t, Timeout: patience}
	if c.Clients == clientsStay {
		client.Timeout = stayLimit
	}
	var mu sync.Mutex
	sendAt(ctx, began, due, func(at time.Duration) {
		how, err := ask(ctx, client, c.Method, addr)
		mu.Lock()
		defer mu.Unlock()
		replies = append(replies, reply{at, time.Since(began), how, err})
	})
	return replies
}

// ask sends one request, with a body where the method has one. It returns the error of a request that is lost.
func ask(ctx context.Context, client *http.Client, method, addr string) (ending, error) {
	var body io.Reader
	if method == http.MethodPost {
		body = bytes.NewReader(make([]byte, bodyLength))
	}
	req, err := http.NewRequestWithContext(ctx, method, "http://"+addr+"/", body)
	if err != nil {
		return lostAnswer, err
	}
	res, err := client.Do(req)
	if err == nil {
		defer res.Body.Close()
		_, err = io.Copy(io.Discard, res.Body)
	}
	switch {
	case err != nil && isTimeout(err):
		return leftWithout, nil
	case err != nil:
		return lostAnswer, err
	case res.StatusCode != http.StatusOK:
		return gotRefusal, nil
	}
	return tookAnswer, nil
}

// Response times are normal again after the last bin of binTime in which more than a tenth of the requests had no good
// answer within usual. By themselves requests take askedTime and workTime, and wait for each other for some milliseconds.
const (
	binTime = 100 * time.Millisecond
	usual   = 50 * time.Millisecond
)

// reduce returns the figures of a round that its replies have.
func reduce(replies []reply) (r nobodyRound) {
	r.Requests = len(replies)
	var times []float64
	var sent, slow [afterTime / binTime]int
	for _, p := range replies {
		switch p.how {
		case tookAnswer:
			r.Taken++
		case gotRefusal:
			r.Refused++
		case leftWithout:
			r.Left++
		case lostAnswer:
			r.Lost++
		}
		times = append(times, (p.ended - p.due).Seconds())
		if since := p.due - calmTime - stallTime; since >= 0 {
			sent[since/binTime]++
			slow[since/binTime] += stats.Count(p.how != tookAnswer || p.ended-p.due > usual)
		}
	}
	slices.Sort(times)
	r.P99 = stats.Quantile(times, .99)
	for i := range sent {
		if 10*slow[i] > sent[i] {
			r.Normal = (time.Duration(i+1) * binTime).Seconds()
			r.Never = i == len(sent)-1
		}
	}
	return r
}
