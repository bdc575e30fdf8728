package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"time"

	"schedlab/internal/measuring/host"
	"schedlab/internal/shared/cpuset"
	"schedlab/internal/shared/selfsigned"
)

// A tlsRecord is tls.json.
type tlsRecord struct {
	Origin    origin
	ServerCPU string // the CPUs of the servers; the client has the others
	Cells     []tlsCell
	Uploads   []uploadCell
}

// A tlsCell is a server that is asked over one protocol and one kind of connection.
type tlsCell struct {
	Server, Protocol, Connections string
	Rate                          float64 // requests a second
	Rounds                        []tlsRound
}

// A tlsRound is one window of a cell.
type tlsRound struct {
	Seed    uint64
	Planned float64 // length of the window in seconds
	CPU     float64 // the server's CPU time in it, in seconds, from the kernel
	asked
}

// Servers besides those of memory.go.
const (
	standard = "net/http"
	served   = "serve --mode nethttp"
)

// Kinds of connections.
const (
	connKept      = "kept"
	connNew       = "new"
	connFull      = "new, full handshake"
	connClassic   = "new, full handshake without ML-KEM"
	connResumed   = "new, resumed"
	connFull12    = "new, TLS 1.2, full handshake"
	connResumed12 = "new, TLS 1.2, resumed"
)

const (
	warmTime  = 200 * time.Millisecond // at the same rate before a window
	tlsWindow = time.Second
)

// A tlsRates has requests a second: on kept connections, on kept ones of a busier server, and on new ones.
type tlsRates struct{ kept, busy, fresh float64 }

// tlsCells returns all cells.
func tlsCells(rates tlsRates) (cells []tlsCell) {
	add := func(server, connections string, rate float64, protocols ...string) {
		for _, protocol := range protocols {
			cells = append(cells, tlsCell{Server: server, Protocol: protocol, Connections: connections, Rate: rate})
		}
	}
	add(standard, connKept, rates.kept, plainHTTP, overTLS, overH2C, overHTTP2)
	add(standard, connKept, rates.busy, plainHTTP, overTLS, overH2C, overHTTP2)
	add(served, connKept, rates.kept, plainHTTP, overTLS, overHTTP2)
	add(fasthttp, connKept, rates.kept, plainHTTP, overTLS)
	add(standard, connNew, rates.fresh, plainHTTP)
	for _, connections := range []string{connFull, connClassic, connResumed, connFull12, connResumed12} {
		add(standard, connections, rates.fresh, overTLS)
	}
	return cells
}

// command returns the command of the cell's server. serve reads its certificate from files.
func (c tlsCell) command(own selfsigned.Identity) string {
	if c.Server != served {
		return plainCommand(c.Server, c.Protocol)
	}
	command := "bin/schedlab serve --mode nethttp --addr {addr} --admin off --iters 100 --log-level error"
	if c.Protocol != plainHTTP {
		command += " --tls-cert " + own.Cert + " --tls-key " + own.Key
	}
	return command
}

// path returns the path of a small answer.
func (c tlsCell) path() string {
	if c.Server == served {
		return "/plaintext"
	}
	return "/small"
}

// measureTLS measures all cells once a round, in random order, and writes the record after each. Half of the rounds have
// another seed. The servers have the first CPU, and this program has the others.
func measureTLS(ctx context.Context, rounds int, rates tlsRates, out io.Writer) (err error) {
	from, err := newOrigin(ctx)
	if err != nil {
		return err
	}
	sides, err := twoSides()
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "counts")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	pair, err := selfsigned.Certificate(-time.Hour, 24*time.Hour)
	if err != nil {
		return err
	}
	own, err := selfsigned.Save(dir, pair)
	if err != nil {
		return err
	}
	r := tlsRecord{Origin: from, ServerCPU: sides.Server.String(), Cells: tlsCells(rates), Uploads: uploadCells()}
	for i := range rounds {
		if err := r.measureCells(ctx, sides, own, uint64(1+i%2), i); err != nil {
			return err
		}
		for u := range r.Uploads {
			cell := &r.Uploads[u]
			got, err := cell.measure(ctx, pair)
			if err != nil {
				return fmt.Errorf("uploads, %s, %s: %w", cell.Protocol, cell.Order, err)
			}
			cell.Rounds = append(cell.Rounds, got)
		}
		if err := save("tls.json", r); err != nil {
			return err
		}
		fmt.Fprintf(out, "round %d of %d\n", i+1, rounds)
	}
	return nil
}

// measureCells measures the CPU time of each cell once.
func (r *tlsRecord) measureCells(ctx context.Context, sides host.Sides, own selfsigned.Identity, seed uint64, round int) error {
	undo, err := sides.BindLoad()
	defer undo()
	if err != nil {
		return err
	}
	random := rand.New(rand.NewPCG(seed, uint64(round)))
	for _, i := range random.Perm(len(r.Cells)) {
		c := &r.Cells[i]
		got, err := c.measure(ctx, own, sides.Server, random)
		if err != nil {
			return fmt.Errorf("%s, %s, %s: %w", c.Server, c.Protocol, c.Connections, err)
		}
		got.Seed = seed
		c.Rounds = append(c.Rounds, got)
	}
	return nil
}

// measure asks a fresh server, and returns what it took of its CPUs in a window.
func (c tlsCell) measure(ctx context.Context, own selfsigned.Identity, cpus cpuset.Set, random *rand.Rand) (got tlsRound, err error) {
	s, err := start(ctx, fmt.Sprintf("taskset -c %s %s", cpus, c.command(own)))
	if err != nil {
		return got, err
	}
	a := newAsker(c, s.addr)
	defer func() {
		a.close()
		err = errors.Join(err, s.kill())
	}()
	if err := a.open(ctx); err != nil {
		return got, err
	}
	if _, err := a.ask(ctx, c.Rate, warmTime, random); err != nil {
		return got, err
	}
	before := host.ProcessCPU(s.cmd.Process.Pid)
	got.Planned = tlsWindow.Seconds()
	if got.asked, err = a.ask(ctx, c.Rate, tlsWindow, random); err != nil {
		return got, err
	}
	after := host.ProcessCPU(s.cmd.Process.Pid)
	if before < 0 || after <= before || got.Requests == 0 {
		return got, fmt.Errorf("%d requests took the server from %v to %v s of CPU time", got.Requests, before, after)
	}
	got.CPU = after - before
	return got, nil
}
