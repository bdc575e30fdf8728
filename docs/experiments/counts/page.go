package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"schedlab/internal/shared/prose"
	"schedlab/internal/shared/stats"
)

// measuredPart is the part of a page that is made from its record.
var measuredPart = regexp.MustCompile(`(?s)(<!-- measured: [^\n]* -->\n).*?(<!-- end -->)`)

// A page is a file NAME.md with the table of a record, NAME.json.
type page struct {
	name  string
	table func(dir, name string) (string, error)
}

var pages = []page{{"memory", tableOf[memoryRecord]}, {"shutdown", tableOf[stopsRecord]}, {"nobody", tableOf[nobodyRecord]}, {"tls", tableOf[tlsRecord]}}

func tableOf[R interface{ markdown() string }](dir, name string) (string, error) {
	r, err := readRecord[R](dir, name+".json")
	if err != nil {
		return "", err
	}
	return r.markdown(), nil
}

// writePages writes the tables of the pages from the records in a directory.
func writePages(dir string) error {
	for _, p := range pages {
		file := filepath.Join(dir, p.name+".md")
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		text, err = p.fill(dir, text)
		if err != nil {
			return err
		}
		if err := os.WriteFile(file, text, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// fill returns a page's text with the table of its record.
func (p page) fill(dir string, text []byte) ([]byte, error) {
	table, err := p.table(dir, p.name)
	if err == nil && !measuredPart.Match(text) {
		err = fmt.Errorf("%s.md has no part between <!-- measured: ... --> and <!-- end -->", p.name)
	}
	return measuredPart.ReplaceAll(text, []byte("${1}"+strings.ReplaceAll(table, "$", "$$")+"${2}")), err
}

// markdown has a row for each server and protocol, and a column for each state.
func (r memoryRecord) markdown() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s. KiB a connection or, where 100 share one, a request: resident, and in brackets what Go has in use after a collection. ", r.Origin)
	fmt.Fprintf(&b, "Means of %d rounds, which differ by at most %.0f %%, or %.1f KiB where less than 1 KiB is in use.\n\n", len(r.Cells[0].Taken), 100*r.spread(false), r.spread(true))
	fmt.Fprintf(&b, "| server | connections | %s |\n|---|---|%s\n", strings.Join(states, " | "), strings.Repeat("---:|", len(states)))
	var row string
	for _, c := range r.Cells {
		if name := "| " + c.Server + " | " + c.connections() + " |"; name != row {
			row = name
			b.WriteString(row)
			for _, state := range states {
				b.WriteString(" " + r.figure(c, state) + " |")
			}
			b.WriteString("\n")
		}
	}
	return b.String()
}

// connections says what a cell's connections are.
func (c memoryCell) connections() string {
	if c.Streams > 1 {
		return fmt.Sprintf("%s, %d streams each", c.Protocol, c.Streams)
	}
	return c.Protocol
}

// figure is what the record has of a server and its connections, those of a cell, in a state.
func (r memoryRecord) figure(c memoryCell, state string) string {
	for _, own := range r.Cells {
		if own.Server == c.Server && own.connections() == c.connections() && own.State == state {
			resident, inUse := own.means()
			return fmt.Sprintf("%s (%s)", kib(resident), kib(inUse))
		}
	}
	return "-"
}

// means returns what is resident, and what Go has in use, in KiB, means of the rounds.
func (c memoryCell) means() (resident, inUse float64) {
	for _, m := range c.Taken {
		resident += m.Resident
		inUse += m.Heap + m.Stack
	}
	n := 1024 * float64(len(c.Taken))
	return resident / n, inUse / n
}

func kib(v float64) string {
	if v < 99.95 {
		return fmt.Sprintf("%.1f", v)
	}
	return prose.Grouped(fmt.Sprintf("%.0f", v))
}

// spread returns by which part of the least the rounds of a cell differ at most in what is resident; with little, by how
// many KiB, among the cells whose use is below 1 KiB, which the other figure leaves out.
func (r memoryRecord) spread(little bool) (most float64) {
	for _, c := range r.Cells {
		if resident, _ := c.means(); (resident < 1) != little {
			continue
		}
		var all []float64
		for _, m := range c.Taken {
			all = append(all, m.Resident)
		}
		least, greatest := slices.Min(all), slices.Max(all)
		if little {
			most = max(most, (greatest-least)/1024)
		} else {
			most = max(most, greatest/least-1)
		}
	}
	return most
}

// markdown has a row for each server and way to stop.
func (r stopsRecord) markdown() string {
	var b strings.Builder
	n := r.Cells[0].total().Stops
	fmt.Fprintf(&b, "%s. Of %d stops each: how many lost a request on a kept connection (95 %% interval in %%, exact), the requests lost there in all, ", r.Origin, n)
	fmt.Fprintf(&b, "and how many stops lost one on a connection just made. The two seeds, %d stops each, differ by %s at most.\n\n", n/2, prose.Plural(r.seedsDiffer(), "stop"))
	b.WriteString("| server | stop | GET | POST | requests | just made: GET, POST |\n|---|---|---:|---:|---:|---:|\n")
	for _, c := range r.Cells {
		t := c.total()
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s | %d, %d |\n", c.name(), c.Way, share(t.GET, t.Stops), share(t.POST, t.Stops),
			prose.Grouped(strconv.Itoa(t.GET.Kept.requests()+t.POST.Kept.requests())), t.GET.New.Stops, t.POST.New.Stops)
	}
	return b.String()
}

// name is the server, and its client where that is Go's.
func (c stopsCell) name() string {
	if c.Client == rawClient {
		return c.Server
	}
	return c.Server + ", client of " + c.Client
}

// share is how many of n stops lost a request on a kept connection, with its interval.
func share(s sum, n int) string {
	low, high := stats.BinomialInterval(s.Kept.Stops, n, .05)
	return fmt.Sprintf("%d (%s–%s)", s.Kept.Stops, percent(low), percent(high))
}

// seedsDiffer returns the greatest difference of two seeds' stops that lost a request on a kept connection.
func (r stopsRecord) seedsDiffer() (most int) {
	for _, c := range r.Cells {
		for _, of := range []func(stops) int{func(s stops) int { return s.GET.Kept.Stops }, func(s stops) int { return s.POST.Kept.Stops }} {
			first, second := of(c.Seeds[0]), of(c.Seeds[1])
			most = max(most, first-second, second-first)
		}
	}
	return most
}

// bySeed returns the median of each seed's values. seeds has the seed of each value.
func bySeed(seeds []uint64, v []float64) (medians []float64) {
	of := map[uint64][]float64{}
	for i, seed := range seeds {
		of[seed] = append(of[seed], v[i])
	}
	for _, values := range of {
		medians = append(medians, stats.Median(values))
	}
	return medians
}

// spreadOf writes the median of a figure and its interval, where that is wider than the figure shows.
func spreadOf(v []float64, format func(float64) string) string {
	s := stats.SpreadOf(v)
	if s == nil {
		return "-"
	}
	median, low, high := format(s.Median), format(s.Low), format(s.High)
	if low == median && high == median {
		return median
	}
	return fmt.Sprintf("%s (%s to %s)", median, low, high)
}

// percent has one digit near the ends, where it matters.
func percent(ratio float64) string {
	if v := 100 * ratio; v > 0 && v < 9.95 || v >= 90 && v < 100 {
		return fmt.Sprintf("%.1f", v)
	}
	return fmt.Sprintf("%.0f", 100*ratio)
}

func tenths(v float64) string { return fmt.Sprintf("%.1f", v) }
