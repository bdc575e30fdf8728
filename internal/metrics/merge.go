package metrics

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"google.golang.org/protobuf/proto"
)

// Snapshot returns the registry's present values, for [Metrics.AddSnapshots] in
// another process.
func (m *Metrics) Snapshot() ([]byte, error) {
	families, err := m.registry.Gather()
	if err != nil {
		return nil, err
	}
	return encode(families)
}

func encode(families []*dto.MetricFamily) ([]byte, error) {
	var b bytes.Buffer
	enc := expfmt.NewEncoder(&b, expfmt.NewFormat(expfmt.TypeProtoDelim))
	for _, f := range families {
		if err := enc.Encode(f); err != nil {
			return nil, fmt.Errorf("encoding %s: %w", f.GetName(), err)
		}
	}
	return b.Bytes(), nil
}

func decode(snapshot []byte) (families []*dto.MetricFamily, err error) {
	dec := expfmt.NewDecoder(bytes.NewReader(snapshot), expfmt.NewFormat(expfmt.TypeProtoDelim))
	for {
		f := new(dto.MetricFamily)
		err := dec.Decode(f)
		if errors.Is(err, io.EOF) {
			return families, nil
		}
		if err != nil {
			return nil, fmt.Errorf("decoding a snapshot: %w", err)
		}
		families = append(families, f)
	}
}

// AddSnapshots makes every scrape from now on the sum of this registry and the
// snapshots that read returns. It is called once per scrape, before the
// registry is read, and may be called by several scrapes at a time.
func (m *Metrics) AddSnapshots(read func() [][]byte) {
	m.gatherer = prometheus.GathererFunc(func() ([]*dto.MetricFamily, error) {
		snapshots := read()
		own, err := m.registry.Gather()
		if err != nil {
			return nil, err
		}
		sum := newTotal()
		sum.add(own)
		for _, s := range snapshots {
			families, err := decode(s)
			if err != nil {
				return nil, err
			}
			sum.add(families)
		}
		return sum.families(), nil
	})
}

// Retire adds the last snapshot of a process that has ended to those of its
// predecessors, so that what it counted stays counted: counters, histograms and
// the longest wait go on, other gauges end with it.
func Retire(before, last []byte) ([]byte, error) {
	sum := newTotal()
	for _, s := range [][]byte{before, last} {
		families, err := decode(s)
		if err != nil {
			return nil, err
		}
		sum.add(slices.DeleteFunc(families, func(f *dto.MetricFamily) bool {
			return f.GetType() == dto.MetricType_GAUGE && f.GetName() != longestWait
		}))
	}
	return encode(sum.families())
}

// A total is a sum of metric families: counters, gauges and histograms by name
// and labels. Of a summary it keeps count and sum, because quantiles of parts say
// nothing about the whole.
type total struct {
	byName map[string]*dto.MetricFamily
	series map[string]*dto.Metric // by name and labels
}

func newTotal() *total {
	return &total{map[string]*dto.MetricFamily{}, map[string]*dto.Metric{}}
}

func (t *total) add(families []*dto.MetricFamily) {
	for _, f := range families {
		sum := t.byName[f.GetName()]
		if sum == nil {
			sum = &dto.MetricFamily{Name: f.Name, Help: f.Help, Type: f.Type, Unit: f.Unit}
			t.byName[f.GetName()] = sum
		}
		for _, m := range f.GetMetric() {
			key := f.GetName() + labelKey(m)
			if have := t.series[key]; have != nil {
				addMetric(f.GetName(), have, m)
				continue
			}
			m = proto.Clone(m).(*dto.Metric)
			if m.Summary != nil {
				m.Summary.Quantile = nil
			}
			t.series[key] = m
			sum.Metric = append(sum.Metric, m)
		}
	}
}

func (t *total) families() []*dto.MetricFamily {
	families := slices.SortedFunc(maps.Values(t.byName), func(a, b *dto.MetricFamily) int {
		return cmp.Compare(a.GetName(), b.GetName())
	})
	for _, f := range families {
		slices.SortFunc(f.Metric, func(a, b *dto.Metric) int { return cmp.Compare(labelKey(a), labelKey(b)) })
	}
	return families
}

// labelKey tells the series of a family apart; labels come sorted by name.
func labelKey(m *dto.Metric) string {
	var b strings.Builder
	for _, l := range m.GetLabel() {
		fmt.Fprintf(&b, "\x00%s\x01%s", l.GetName(), l.GetValue())
	}
	return b.String()
}

// settings are gauges that say how a process is set up, not how much of something
// it has: they do not add up.
var settings = map[string]bool{
	"process_max_fds":                  true,
	"process_virtual_memory_max_bytes": true,
	"go_gc_gogc_percent":               true,
	"go_gc_gomemlimit_bytes":           true,
}

func addMetric(name string, sum, m *dto.Metric) {
	switch {
	case m.Counter != nil:
		sum.Counter.Value = new(sum.Counter.GetValue() + m.Counter.GetValue())
	case m.Gauge != nil && (settings[name] || strings.HasSuffix(name, "_info")):
	case m.Gauge != nil && name == "process_start_time_seconds":
		sum.Gauge.Value = new(min(sum.Gauge.GetValue(), m.Gauge.GetValue()))
	case m.Gauge != nil && (name == oldestWait || name == longestWait):
		sum.Gauge.Value = new(max(sum.Gauge.GetValue(), m.Gauge.GetValue()))
	case m.Gauge != nil:
		sum.Gauge.Value = new(sum.Gauge.GetValue() + m.Gauge.GetValue())
	case m.Summary != nil:
		sum.Summary.SampleCount = new(sum.Summary.GetSampleCount() + m.Summary.GetSampleCount())
		sum.Summary.SampleSum = new(sum.Summary.GetSampleSum() + m.Summary.GetSampleSum())
	case m.Histogram != nil:
		addHistogram(sum.Histogram, m.Histogram)
	}
}
