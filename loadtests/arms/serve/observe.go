package main

import (
	"bufio"
	"fmt"
	"io"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"schedlab/internal/shared/workload"
)

// parts is the number of parts of a sharded counter, each with a lock and a cache line of its own.
const parts = 64

// A counter adds one for a request, and tells the sum. Both are safe for concurrent use.
type counter struct {
	add func()
	sum func() int64
}

// counters are the kinds of -count.
var counters = map[string]func() counter{
	"mutex": func() counter {
		var mu sync.Mutex
		var n int64
		return counter{
			add: func() { mu.Lock(); n++; mu.Unlock() },
			sum: func() int64 { mu.Lock(); defer mu.Unlock(); return n },
		}
	},
	"sharded": func() counter {
		all := new([parts]struct {
			sync.Mutex
			n int64
			_ [48]byte
		})
		return counter{
			add: func() {
				p := &all[rand.IntN(parts)]
				p.Lock()
				p.n++
				p.Unlock()
			},
			sum: func() (sum int64) {
				for i := range all {
					all[i].Lock()
					sum += all[i].n
					all[i].Unlock()
				}
				return sum
			},
		}
	},
	"atomic": func() counter {
		n := new(atomic.Int64)
		return counter{add: func() { n.Add(1) }, sum: n.Load}
	},
}

// buffer is how many bytes of lines the log "buffered" keeps before it writes them.
const buffer = 64 << 10

// A lineLog writes a line for each request to w, under a lock; flush writes what w still keeps. It keeps the first error of
// w, and then writes nothing more.
type lineLog struct {
	mu    sync.Mutex
	w     io.Writer
	flush func() error
	line  []byte
	err   error
}

// logs are the kinds of -log: a write for each line, or one for some hundreds of them.
var logs = map[string]func(w io.Writer) *lineLog{
	"locked": func(w io.Writer) *lineLog { return &lineLog{w: w, flush: func() error { return nil }} },
	"buffered": func(w io.Writer) *lineLog {
		b := bufio.NewWriterSize(w, buffer)
		return &lineLog{w: b, flush: b.Flush}
	},
}

func (l *lineLog) request(x *workload.Exchange) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.err != nil {
		return
	}
	l.line = time.Now().AppendFormat(l.line[:0], time.RFC3339Nano)
	l.line = fmt.Appendf(l.line, " %s %s %d\n", x.Method, x.Path, x.Status)
	_, l.err = l.w.Write(l.line)
}

// end writes the lines that are still kept, and returns the log's first error.
func (l *lineLog) end() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.err != nil {
		return l.err
	}
	return l.flush()
}

// counted answers with serve, and counts each request before.
func counted(serve func(*workload.Exchange), c counter) func(*workload.Exchange) {
	return func(x *workload.Exchange) {
		c.add()
		serve(x)
	}
}

// logged answers with serve, and writes a line for each request after.
func logged(serve func(*workload.Exchange), l *lineLog) func(*workload.Exchange) {
	return func(x *workload.Exchange) {
		serve(x)
		l.request(x)
	}
}
