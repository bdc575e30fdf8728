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

// drawn is the number of samples that represent a histogram.
const drawn = 1 << 16

// ReadHistogram reads a Prometheus histogram of the seconds that a worker is held. r is a text
// exposition; file is its name in messages.
//
// metric names the histogram. "" takes the only one that ends in _seconds. Histograms of the Go
// runtime, of the process and of schedlab do not count, because they hold no times of handlers
// alone. If several are left, the error lists them.
//
// Series with different labels are added up, and From names them. If a series' count or sum
// contradicts its buckets, that is an error. Times are assumed to be uniform within a bucket. Times
// above the last bound are all given the mean that the histogram's sum leaves for them; a doubt
// tells their ratio.
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

// foreign are the name prefixes of histograms that hold no times of handlers alone. schedlab's
// include the wait for a worker, or are about something else.
var foreign = []string{"go_", "process_", "schedlab_"}

// chosen returns metric if it is one of names. If metric is "", it returns the only name that fits.
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

// labelled returns a series' labels as the exposition writes them, "" for none.
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

// mostNamed is the number of series that added names.
const mostNamed = 4

// added returns a phrase that names the series added up, "" for a single one.
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
