package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"text/tabwriter"
	"time"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"schedlab/internal/shared/record"
)

// counts are the chunks in each bucket of a histogram, not cumulative. The last has no upper bound.
type counts struct {
	bounds []float64 // upper, in seconds, ascending; one fewer than chunks
	chunks []uint64
}

// countsOf returns the counts of a histogram.
func countsOf(h *dto.Histogram) (c counts) {
	below := uint64(0)
	for _, b := range h.GetBucket() {
		c.chunks = append(c.chunks, b.GetCumulativeCount()-below)
		if below = b.GetCumulativeCount(); math.IsInf(b.GetUpperBound(), 1) { // +Inf, which a text has and a histogram has not
			return c
		}
		c.bounds = append(c.bounds, b.GetUpperBound())
	}
	c.chunks = append(c.chunks, h.GetSampleCount()-below)
	return c
}

// total returns the number of chunks.
func (c counts) total() (n uint64) {
	for _, k := range c.chunks {
		n += k
	}
	return n
}

// within returns the bound below which a share of the chunks was late, in words.
func (c counts) within(share float64) string {
	all, seen := float64(c.total()), uint64(0)
	if all == 0 {
		return "-"
	}
	for i, bound := range c.bounds {
		if seen += c.chunks[i]; float64(seen) >= share*all {
			return "<= " + time.Duration(bound*1e9+.5).String()
		}
	}
	return "> " + time.Duration(c.bounds[len(c.bounds)-1]*1e9+.5).String()
}

// A carried is what the relay did in trials of one arm.
type carried struct {
	late   counts  // of chunks: bytes of one read, and each opening, dial, end and reset of a connection
	cpu    float64 // seconds
	trials int
}

// printFigures writes a table of a recorded run: how late the relay's chunks were in each arm that has one, from the scrape
// before the load to the one after it, summed over all trials. A chunk that then waits for room in a socket is no later here.
func printFigures(to io.Writer, run string) error {
	dir, _, err := record.Open(run, record.DefaultRoot)
	if err != nil {
		return err
	}
	arms := map[string]*carried{}
	for t, err := range dir.Trials() {
		if err != nil {
			return err
		}
		if arms[t.Arm] == nil {
			arms[t.Arm] = &carried{}
		}
		if err := arms[t.Arm].add(t.Path); err != nil {
			return fmt.Errorf("reading %s: %w", t.Path, err)
		}
	}
	maps.DeleteFunc(arms, func(_ string, c *carried) bool { return c.trials == 0 })
	if len(arms) == 0 {
		return fmt.Errorf("no trial of %s has metrics of a relay", run)
	}
	table := tabwriter.NewWriter(to, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "arm\ttrials\tchunks\tlate p50\tp90\tp99\tp99.9\tmost\tCPU a chunk")
	for _, name := range slices.Sorted(maps.Keys(arms)) {
		c := arms[name]
		fmt.Fprintf(table, "%s\t%d\t%d", name, c.trials, c.late.total())
		for _, share := range []float64{.5, .9, .99, .999, 1} {
			fmt.Fprintf(table, "\t%s", c.late.within(share))
		}
		fmt.Fprintf(table, "\t%.2f µs\n", 1e6*c.cpu/float64(max(1, c.late.total())))
	}
	return table.Flush()
}

// add adds a trial. It does nothing where the trial has no relay.
func (c *carried) add(trial string) error {
	after, cpuAfter, err := scraped(filepath.Join(trial, "metrics.om"))
	if errors.Is(err, fs.ErrNotExist) || err == nil && after.bounds == nil {
		return nil
	}
	if err != nil {
		return err
	}
	before, cpuBefore, err := scraped(filepath.Join(trial, "metrics-before.om"))
	if err != nil {
		return err
	}
	if !slices.Equal(before.bounds, after.bounds) || c.trials > 0 && !slices.Equal(c.late.bounds, after.bounds) {
		return errors.New("two scrapes have different buckets")
	}
	if c.trials == 0 {
		c.late = counts{after.bounds, make([]uint64, len(after.chunks))}
	}
	c.trials++
	c.cpu += cpuAfter - cpuBefore
	for i := range c.late.chunks {
		c.late.chunks[i] += after.chunks[i] - before.chunks[i]
	}
	return nil
}

// scraped reads the metrics of a relay; the zero counts where another program wrote them.
func scraped(file string) (c counts, cpu float64, err error) {
	f, err := os.Open(file)
	if err != nil {
		return c, 0, err
	}
	defer f.Close()
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(f)
	if err != nil {
		return c, 0, err
	}
	for _, m := range families[lateName].GetMetric() {
		c = countsOf(m.GetHistogram())
	}
	for _, m := range families[cpuName].GetMetric() {
		cpu = m.GetCounter().GetValue()
	}
	return c, cpu, nil
}
