package sizing

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
)

// drawn is how many samples a histogram becomes.
const drawn = 1 << 16

// ReadHistogram reads a Prometheus histogram of the seconds a worker is held from a
// text exposition, named file in messages. Metric is its name; "" takes the one that
// ends in _seconds, beside those that tell no time held: the Go runtime's, the
// process's and schedlab's, in which waits are. An error lists several. Series with
// different labels are added up, and From names them. A series whose count or sum its
// buckets do not allow is an error. A time within a bucket is taken to be anywhere in it
// alike, one above the last bound to be where the histogram's sum leaves it; the doubts
// say how many those are.
func ReadHistogram(r io.Reader, file, metric string) (Demand, error) {
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(r)
	if err != nil {
		return Demand{}, fmt.Errorf("reading %s: %w", file, err)
	}
	var names []string
	for _, name := range slices.Sorted(maps.Keys(families)) {
		if families[name].GetType() == dto.MetricType_HISTOGRAM {
			names = append(names, name)
		}
	}
	name, err := chosen(metric, names)
	if err != nil {
		return Demand{}, fmt.Errorf("reading %s: %w", file, err)
	}
	h, err := addUp(name, families[name].GetMetric())
	if err != nil {
		return Demand{}, fmt.Errorf("reading %s: %w", file, err)
	}
	d := h.demand(fmt.Sprintf("the histogram %s in %s%s", name, file, added(families[name].GetMetric())))
	if d.Held() == 0 {
		return Demand{}, fmt.Errorf("reading %s: %s: all times are 0; nothing is held", file, name)
	}
	return d, nil
}

// foreign are the beginnings of names of histograms that hold no time of a handler
// alone: schedlab's have the wait for a worker in them, or are of nothing else.
var foreign = []string{"go_", "process_", "schedlab_"}

// chosen is the histogram of that name, or the only one that may be meant by "".
func chosen(metric string, names []string) (string, error) {
	had := "it has none"
	if len(names) > 0 {
		had = "it has " + strings.Join(names, ", ")
	}
	if slices.Contains(names, metric) {
		return metric, nil
	}
	if metric != "" {
		return "", fmt.Errorf("no histogram %s; %s", metric, had)
	}
	var fit []string
	for _, n := range names {
		not := func(prefix string) bool { return strings.HasPrefix(n, prefix) }
		if strings.HasSuffix(n, "_seconds") && !slices.ContainsFunc(foreign, not) {
			fit = append(fit, n)
		}
	}
	switch len(fit) {
	case 0:
		return "", fmt.Errorf("no histogram *_seconds of a handler's times; %s; name one with --metric", had)
	case 1:
		return fit[0], nil
	}
	return "", fmt.Errorf("%d histograms may be meant: %s; choose one with --metric", len(fit), strings.Join(fit, ", "))
}

// labelled is a series' labels as they are exposed, "" for none.
func labelled(m *dto.Metric) string {
	if len(m.GetLabel()) == 0 {
		return ""
	}
	return "{" + pairs(m, `%s=%q`) + "}"
}

func pairs(m *dto.Metric, format string) string {
	var all []string
	for _, l := range m.GetLabel() {
		all = append(all, fmt.Sprintf(format, l.GetName(), l.GetValue()))
	}
	return strings.Join(all, ",")
}

// mostNamed is how many series are told by name.
const mostNamed = 4

// added says which series a demand is the sum of, "" for one.
func added(series []*dto.Metric) string {
	if len(series) < 2 {
		return ""
	}
	var names []string
	for _, m := range series[:min(len(series), mostNamed)] {
		names = append(names, pairs(m, "%s=%s"))
	}
	if more := len(series) - len(names); more > 0 {
		names = append(names, fmt.Sprintf("and %d more", more))
	}
	return fmt.Sprintf(" (%d series added: %s)", len(series), strings.Join(names, "; "))
}
