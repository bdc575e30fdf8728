package metrics

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
)

// A Snapshot is the values of one process's registry, encoded for another process.
type Snapshot []byte

// Snapshot returns the registry's present values.
func (m *Metrics) Snapshot() (Snapshot, error) {
	families, err := m.registry.Gather()
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	enc := expfmt.NewEncoder(&b, expfmt.NewFormat(expfmt.TypeProtoDelim))
	for _, f := range families {
		if err := enc.Encode(f); err != nil {
			return nil, fmt.Errorf("encoding %s: %w", f.GetName(), err)
		}
	}
	return b.Bytes(), nil
}

// Gather implements prometheus.Gatherer.
func (s Snapshot) Gather() (families []*dto.MetricFamily, err error) {
	dec := expfmt.NewDecoder(bytes.NewReader(s), expfmt.NewFormat(expfmt.TypeProtoDelim))
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

// AddSnapshots puts the snapshots that read returns into every scrape from now on. Their
// series carry the label process. read is called once for each reading of the registry,
// before it.
func (m *Metrics) AddSnapshots(read func() []Snapshot) {
	m.gatherer = prometheus.GathererFunc(func() ([]*dto.MetricFamily, error) {
		var all prometheus.Gatherers
		for _, s := range read() {
			all = append(all, s)
		}
		return append(all, m.registry).Gather()
	})
}
