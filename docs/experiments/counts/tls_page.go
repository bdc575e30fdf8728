package main

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"schedlab/internal/shared/prose"
	"schedlab/internal/shared/stats"
)

// markdown has a table of requests on kept connections, one of new connections, and one of uploads.
func (r tlsRecord) markdown() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s. Servers on CPU %s, the client on the others. CPU time of the server's process, medians of %d rounds with their 95 %% intervals in brackets; ",
		r.Origin, r.ServerCPU, len(r.Cells[0].Rounds))
	fmt.Fprintf(&b, "differences and ratios are of the same round.%s\n\n", r.seedsDiffer())
	r.requests(&b)
	b.WriteString("\n")
	r.handshakes(&b)
	b.WriteString("\n")
	r.uploads(&b)
	return b.String()
}

// requests writes a row for each server and protocol on kept connections.
func (r tlsRecord) requests(b *strings.Builder) {
	opened, late := r.extremes()
	fmt.Fprintf(b, "Requests on kept connections. At most %s opened in a window, and the last answer of one came %.0f %% of its length late at most.\n\n",
		prose.Plural(opened, "connection"), 100*late)
	b.WriteString("| server | rate | protocol | µs a request | more than HTTP/1.1 | that is | against HTTP/1.1, TLS |\n|---|---:|---|---:|---:|---:|---:|\n")
	for _, c := range r.Cells {
		if c.Connections != connKept {
			continue
		}
		fmt.Fprintf(b, "| %s | %s | %s | %s |", c.Server, prose.PerSecond(c.Rate), c.Protocol, spreadOf(c.micros(), tenths))
		if plain := r.over(plainHTTP, c); c.Protocol == plainHTTP {
			b.WriteString(" - | - |")
		} else {
			fmt.Fprintf(b, " %s | %s |", spreadOf(minus(c.micros(), plain), tenths), spreadOf(by(c.micros(), plain), stats.Change))
		}
		if c.Protocol == overHTTP2 {
			fmt.Fprintf(b, " %s |\n", spreadOf(by(c.micros(), r.over(overTLS, c)), stats.Change))
		} else {
			b.WriteString(" - |\n")
		}
	}
}

// fullOf has the full handshakes that others are compared with.
var fullOf = map[string]string{connClassic: connFull, connResumed: connFull, connResumed12: connFull12}

// handshakes writes a row for each kind of new connection.
func (r tlsRecord) handshakes(b *strings.Builder) {
	b.WriteString("New connections, each for one request of HTTP/1.1 to net/http. The requests on kept connections are those of the first row above.\n\n")
	b.WriteString("| connection | rate | µs a connection | more than without TLS | in requests on kept connections | of its full handshake | resumed |\n|---|---:|---:|---:|---:|---:|---:|\n")
	plain, request := r.micros(connNew), r.micros(connKept)
	for _, c := range r.Cells {
		if c.Connections == connKept {
			continue
		}
		fmt.Fprintf(b, "| %s | %s | %s |", c.Connections, prose.PerSecond(c.Rate), spreadOf(c.micros(), tenths))
		if c.Protocol == plainHTTP {
			b.WriteString(" - | - | - | - |\n")
			continue
		}
		more := minus(c.micros(), plain)
		share := "-"
		if full := fullOf[c.Connections]; full != "" {
			share = spreadOf(by(more, minus(r.micros(full), plain)), func(v float64) string { return percent(v) + " %" })
		}
		resumed, all := 0, 0
		for _, round := range c.Rounds {
			resumed, all = resumed+round.Resumed, all+round.Requests
		}
		fmt.Fprintf(b, " %s | %s | %s | %s of %s |\n", spreadOf(more, tenths), spreadOf(by(more, request), tenths), share,
			prose.Grouped(strconv.Itoa(resumed)), prose.Grouped(strconv.Itoa(all)))
	}
}

// uploads writes a row for each protocol and order of the handler's steps.
func (r tlsRecord) uploads(b *strings.Builder) {
	fmt.Fprintf(b, "%d uploads of %d KiB at once, for one place: how many were answered in %.0f s, in the median, least and most of %d rounds.\n\n",
		uploads, uploadLength>>10, uploadLimit.Seconds(), len(r.Uploads[0].Rounds))
	b.WriteString("| protocol | handler | receive window | answered | s until the last answer |\n|---|---|---|---:|---:|\n")
	for _, c := range r.Uploads {
		var answered, seconds []float64
		for _, round := range c.Rounds {
			answered = append(answered, float64(round.Answered))
			if round.Answered > 0 {
				seconds = append(seconds, round.Seconds)
			}
		}
		last := "-"
		if len(seconds) > 0 {
			last = fmt.Sprintf("%.2f", stats.Median(seconds))
		}
		window := "-"
		switch {
		case c.Window > 0:
			window = prose.Grouped(strconv.Itoa(c.Window)) + " bytes"
		case c.Protocol == overHTTP2:
			window = "Go's own, 1 MiB"
		}
		fmt.Fprintf(b, "| %s | %s | %s | %s (%.0f–%.0f) | %s |\n", c.Protocol, c.Order, window,
			strconv.FormatFloat(stats.Median(answered), 'f', -1, 64), slices.Min(answered), slices.Max(answered), last)
	}
}

// micros returns the CPU time of a request in each round, in µs.
func (c tlsCell) micros() (v []float64) {
	for _, round := range c.Rounds {
		v = append(v, 1e6*round.CPU/float64(round.Requests))
	}
	return v
}

// micros returns the times of the first cell with a kind of connections.
func (r tlsRecord) micros(connections string) []float64 {
	return r.first(func(c tlsCell) bool { return c.Connections == connections })
}

// over returns the times of the cell that differs from this one by its protocol alone.
func (r tlsRecord) over(protocol string, like tlsCell) []float64 {
	return r.first(func(c tlsCell) bool {
		return c.Server == like.Server && c.Protocol == protocol && c.Connections == like.Connections && c.Rate == like.Rate
	})
}

func (r tlsRecord) first(is func(tlsCell) bool) []float64 {
	return r.Cells[slices.IndexFunc(r.Cells, is)].micros()
}

// seedsDiffer says by which part the medians of a cell's two seeds differ at most. Of a single seed it says nothing.
func (r tlsRecord) seedsDiffer() string {
	most := -1.0
	for _, c := range r.Cells {
		var seeds []uint64
		for _, round := range c.Rounds {
			seeds = append(seeds, round.Seed)
		}
		if medians := bySeed(seeds, c.micros()); len(medians) > 1 {
			most = max(most, slices.Max(medians)/slices.Min(medians)-1)
		}
	}
	if most < 0 {
		return ""
	}
	return fmt.Sprintf(" The medians of the two seeds differ by at most %.0f %%.", 100*most)
}

// extremes returns the most connections opened in a window of kept ones, and the greatest part of its length by which a
// window's last answer was late.
func (r tlsRecord) extremes() (opened int, late float64) {
	for _, c := range r.Cells {
		for _, round := range c.Rounds {
			late = max(late, round.Seconds/round.Planned-1)
			if c.Connections == connKept {
				opened = max(opened, round.Opened)
			}
		}
	}
	return opened, late
}

// minus returns the difference of each round.
func minus(a, b []float64) []float64 { return each(a, b, func(a, b float64) float64 { return a - b }) }

// by returns the ratio of each round.
func by(a, b []float64) []float64 { return each(a, b, func(a, b float64) float64 { return a / b }) }

func each(a, b []float64, of func(a, b float64) float64) []float64 {
	v := make([]float64, len(a))
	for i := range v {
		v[i] = of(a[i], b[i])
	}
	return v
}
