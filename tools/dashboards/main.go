// Command dashboards writes the Grafana dashboard of schedlab serve.
//
//	make dashboards    # writes deploy/grafana/dashboards/overview.json
//
// The dashboard is built with Grafana's Foundation SDK, which knows the format. This program
// decides the contents: the rows of panels, and each panel's queries.
package main

//lint:file-ignore SA1019 dashboardv2 would be the newer format; this one is read by every Grafana that the SDK knows

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/grafana/grafana-foundation-sdk/go/cog"
	"github.com/grafana/grafana-foundation-sdk/go/cog/variants"
	"github.com/grafana/grafana-foundation-sdk/go/common"
	"github.com/grafana/grafana-foundation-sdk/go/dashboard"
	"github.com/grafana/grafana-foundation-sdk/go/prometheus"
	"github.com/grafana/grafana-foundation-sdk/go/stat"
	"github.com/grafana/grafana-foundation-sdk/go/timeseries"
	"github.com/grafana/grafana-foundation-sdk/go/units"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintf(os.Stderr, "dashboards: %v\n", err)
		os.Exit(1)
	}
}

// run writes the dashboard into the directory that is its one argument.
func run(args []string) error {
	if len(args) != 1 {
		return fmt.Errorf("got %d arguments, want the directory to write into, as 'make dashboards' gives it", len(args))
	}
	text, err := overview()
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(args[0], "overview.json"), text, 0o644)
}

// A row is a line of panels with a title above them.
type row struct {
	title  string
	panels []panel
}

// A panel is a chart of one unit; with now set it shows each query's newest value instead.
type panel struct {
	title, unit, description string
	queries                  []query
	now                      bool
}

// A query is an expression in PromQL and the name of its series in the legend, in which {{label}}
// stands for the label's value.
//
// {OF} in an expression stands for the variables' selection of servers, ONLY for the same behind
// another label, and {GO} for the same selection among the metrics of the Go runtime and of the process,
// which have no label mode.
type query struct{ legend, expr string }

const (
	selected   = `instance=~"$instance", mode=~"$mode"`
	selectedGo = `instance=~"$instance"`
	server     = "{{instance}} {{mode}}"
)

// quantiles returns queries of a histogram's quantiles. rate is its rate, and by are the labels to
// keep; a histogram with classic buckets needs its label le among them.
func quantiles(rate, by, legend string) (all []query) {
	for _, percent := range []int{50, 90, 99} {
		all = append(all, query{fmt.Sprintf("%s p%d", legend, percent), fmt.Sprintf("histogram_quantile(0.%d, sum by (%s) (%s))", percent, by, rate)})
	}
	return all
}

// rows are the rows of the dashboard. Each process of prefork has its own series, so the series of
// requests and of the runtime are summed over the processes (without the label process).
var rows = []row{
	{"Connections: accepted = done + open + rejected + dropped, in every scrape", []panel{
		{"Since the start", units.Short, "Each server counts all five under one lock, so they add up in every scrape. Not accounted for must be 0; the alert SchedlabCountsDisagree watches it.", []query{
			{"accepted", `sum(schedlab_connections_accepted_total{OF})`},
			{"done", `sum(schedlab_connections_done_total{OF})`},
			{"open", `sum(schedlab_connections_open{OF})`},
			{"rejected", `sum(schedlab_connections_rejected_total{OF})`},
			{"dropped", `sum(schedlab_connections_dropped_total{OF})`},
			{"not accounted for", `sum(abs(schedlab_connections_accepted_total{OF} - schedlab_connections_done_total{OF} - schedlab_connections_open{OF} - sum without (reason) (schedlab_connections_rejected_total{OF}) - sum without (reason) (schedlab_connections_dropped_total{OF})))`},
		}, true},
		{"Accepted and done a second", units.CountsPerSecond, "Accepted above done for long: connections pile up, or are turned away.", []query{
			{server + " accepted", `rate(schedlab_connections_accepted_total{OF}[$__rate_interval])`},
			{server + " done", `rate(schedlab_connections_done_total{OF}[$__rate_interval])`},
		}, false},
		{"Rejected and dropped a second, by reason", units.CountsPerSecond, "Rejected: answered with a refusal and closed. Dropped: closed without an answer.", []query{
			{server + " rejected {{reason}}", `rate(schedlab_connections_rejected_total{OF}[$__rate_interval])`},
			{server + " dropped {{reason}}", `rate(schedlab_connections_dropped_total{OF}[$__rate_interval])`},
		}, false},
		{"Open", units.Short, "Accepted and not yet closed.", []query{
			{server, `schedlab_connections_open{OF}`},
		}, false},
		{"Accept queue", units.Short, "Connections that the kernel holds until the server accepts them. The response times below do not have this wait.", []query{
			{server + " waiting", `sum without (listener) (schedlab_accept_queue_depth{OF})`},
		}, false},
		{"Attempts that found an accept queue full, a second", units.CountsPerSecond, "Attempts to connect (repeats included) that found an accept queue full. A client that waits repeats about once a second. The kernel counts them for a whole network namespace, other servers included.", []query{
			{server, `rate(schedlab_listen_overflows_total{OF}[$__rate_interval])`},
		}, false},
	}},
	{"Requests", []panel{
		{"Answers a second, by status", units.RequestsPerSecond, "503 is a refusal on a connection that lives on.", []query{
			{server + " {{code}}", `sum by (instance, mode, code) (rate(schedlab_requests_total{OF}[$__rate_interval])) > 0`},
		}, false},
		{"Response time, from native histograms", units.Seconds, "Steps of a tenth. Needs a Prometheus that stores native histograms: 3.8 or newer with deploy/prometheus/native.yml.",
			quantiles(`rate(schedlab_request_duration_seconds{OF}[$__rate_interval])`, "instance, mode", server), false},
		{"Response time, from classic buckets", units.Seconds, "Six steps in each decade. The server's own time; what a client waits in the kernel's accept queue is not in it. Prometheus extrapolates each bucket by itself: for a minute after a server gets faster or slower p99 may read up to 10 s, and the native histograms beside do not.",
			quantiles(`rate(schedlab_request_duration_seconds_bucket{OF}[$__rate_interval])`, "instance, mode, le", server), false},
	}},
	{"Queue and workers, of the modes that have them", []panel{
		{"Queue wait", units.Seconds, "Of the jobs that a worker took; a job is a connection, a burst of one, or a request, by the mode's unit. From classic buckets: p99 may read up to 10 s for a minute after waits got shorter.",
			quantiles(`rate(schedlab_queue_wait_seconds_bucket{OF}[$__rate_interval])`, "instance, mode, le", server), false},
		{"Oldest wait", units.Seconds, "Of the job that waits longest now. Clients that starve show here, and in no response time.", []query{
			{server, `max by (instance, mode) (schedlab_queue_oldest_wait_seconds{OF})`},
		}, false},
		{"Gave up a second", units.Short, "Clients that had closed their connection before a worker came to it.", []query{
			{server + " connections", `rate(schedlab_connections_gave_up_total{OF}[$__rate_interval])`},
			{server + " requests", `sum by (instance, mode) (rate(schedlab_requests_gave_up_total{OF}[$__rate_interval]))`},
		}, false},
		{"Queue", units.Short, "A full queue blocks the acceptor, or turns arrivals away (--overflow).", []query{
			{server + " waiting", `sum by (instance, mode) (schedlab_queue_depth{OF})`},
			{server + " places", `sum by (instance, mode) (schedlab_queue_capacity{OF})`},
		}, false},
		{"Workers", units.Short, "By Little's law, arrivals a second times the seconds that each holds a worker are busy on average.", []query{
			{server + " busy", `sum by (instance, mode) (schedlab_workers_busy{OF})`},
			{server + " workers", `sum by (instance, mode) (schedlab_workers{OF})`},
		}, false},
	}},
	{"Go", []panel{
		{"Scheduler latency", units.Seconds, "How long goroutines were runnable before they ran. The buckets' limits double, so a value may be up to twice as large as the wait; it is the size that tells. For a minute after waits got shorter p99 may read too high. Above 10 ms runnable goroutines wait for a whole time slice. The runtime samples the waits, and those of new goroutines more often.",
			quantiles(`rate(schedlab_sched_latency_seconds_bucket{OF}[$__rate_interval])`, "instance, mode, le", server), false},
		{"Waits to run above 10 ms", units.PercentUnit, "Share of the waits of runnable goroutines that lasted longer than 10.5 ms, a limit that Go's own buckets have. The alert SchedlabSchedulingDelay watches it: above 1 % for two minutes.", []query{
			{server, `1 - sum by (instance, mode) (rate(schedlab_sched_latency_seconds_bucket{le="0.01048576", ONLY}[$__rate_interval])) / sum by (instance, mode) (rate(schedlab_sched_latency_seconds_count{OF}[$__rate_interval]))`},
		}, false},
		{"Run queue", units.Short, "Goroutines that could run and wait for a processor, as a scrape begins; its own are not among them.", []query{
			{server + " runnable", `sum by (instance, mode) (schedlab_goroutines{state="runnable", ONLY})`},
			{"{{instance}} GOMAXPROCS", `sum by (instance) (go_sched_gomaxprocs_threads{GO})`},
		}, false},
		{"CPU", units.Short, "CPUs in use. Go tells the share of garbage collection at the end of each, so it comes in steps.", []query{
			{"{{instance}} process", `sum by (instance) (rate(process_cpu_seconds_total{GO}[$__rate_interval]))`},
			{"{{instance}} garbage collection", `sum by (instance) (rate(go_cpu_classes_gc_total_cpu_seconds_total{GO}[$__rate_interval]))`},
		}, false},
		{"Garbage collections a second", units.Short, "", []query{
			{"{{instance}}", `sum by (instance) (rate(go_gc_cycles_total_gc_cycles_total{GO}[$__rate_interval]))`},
		}, false},
		{"Live heap", units.BytesIEC, "After the last collection; at the goal the next one begins.", []query{
			{"{{instance}} live", `sum by (instance) (go_gc_heap_live_bytes{GO})`},
			{"{{instance}} goal", `sum by (instance) (go_gc_heap_goal_bytes{GO})`},
		}, false},
	}},
}

// overview returns the dashboard as JSON.
func overview() ([]byte, error) {
	d := dashboard.NewDashboardBuilder("schedlab serve").
		Uid("schedlab-overview").
		Description("One scheduling model as a server: its connections, requests, queue and runtime. Made by 'make dashboards'; change tools/dashboards/main.go.").
		Tags([]string{"schedlab"}).
		Readonly().
		Tooltip(dashboard.DashboardCursorSyncCrosshair).
		Time("now-15m", "now").
		Refresh("10s").
		WithVariable(dashboard.NewDatasourceVariableBuilder("datasource").Label("Prometheus").Type("prometheus")).
		WithVariable(choice("mode", "label_values(schedlab_mode_info, mode)")).
		WithVariable(choice("instance", `label_values(schedlab_mode_info{mode=~"$mode"}, instance)`))
	id := uint32(0)
	next := func() uint32 { id++; return id }
	for _, r := range rows {
		d.WithRow(dashboard.NewRowBuilder(r.title).Id(next()))
		for _, p := range r.panels {
			d.WithPanel(p.build(next()))
		}
	}
	built, err := d.Build()
	if err != nil {
		return nil, err
	}
	var text bytes.Buffer
	encode := json.NewEncoder(&text)
	encode.SetEscapeHTML(false) // > stays readable
	encode.SetIndent("", "  ")
	err = encode.Encode(built)
	return text.Bytes(), err
}

// choice returns a variable that selects some or all values of a label.
func choice(name, values string) *dashboard.QueryVariableBuilder {
	return dashboard.NewQueryVariableBuilder(name).
		Datasource(datasource()).
		Query(dashboard.StringOrMap{String: &values}).
		Definition(values).
		Refresh(dashboard.VariableRefreshOnTimeRangeChanged).
		Sort(dashboard.VariableSortAlphabeticalAsc).
		Multi(true).
		IncludeAll(true).
		Current(dashboard.VariableOption{
			Selected: cog.ToPtr(true),
			Text:     dashboard.StringOrArrayOfString{ArrayOfString: []string{"All"}},
			Value:    dashboard.StringOrArrayOfString{ArrayOfString: []string{"$__all"}},
		})
}

// datasource is the Prometheus that the variable of this name chose.
func datasource() common.DataSourceRef {
	return common.DataSourceRef{Type: cog.ToPtr("prometheus"), Uid: cog.ToPtr("$datasource")}
}

// Three charts are a line of Grafana's grid; newest values take one alone.
const (
	lineWidth, chartsInLine     = 24, 3
	chartHeight, newestHeight   = 8, 4
	legendCalculation, lineFill = "lastNotNull", 10
)

// build returns the panel in the SDK's terms.
func (p panel) build(id uint32) cog.Builder[dashboard.Panel] {
	var targets []cog.Builder[variants.Dataquery]
	for i, q := range p.queries {
		expr := strings.NewReplacer("{OF}", "{"+selected+"}", "ONLY", selected, "{GO}", "{"+selectedGo+"}").Replace(q.expr)
		target := prometheus.NewDataqueryBuilder().RefId(string(rune('A' + i))).Datasource(datasource()).Expr(expr).LegendFormat(q.legend)
		if p.now {
			target.Instant()
		} else {
			target.Range()
		}
		targets = append(targets, target)
	}
	if p.now {
		return stat.NewPanelBuilder().Id(id).Title(p.title).Description(p.description).Unit(p.unit).
			Datasource(datasource()).Targets(targets).Height(newestHeight).Span(lineWidth).
			GraphMode(common.BigValueGraphModeNone).ColorMode(common.BigValueColorModeNone).
			ReduceOptions(common.NewReduceDataOptionsBuilder().Calcs([]string{legendCalculation}))
	}
	return timeseries.NewPanelBuilder().Id(id).Title(p.title).Description(p.description).Unit(p.unit).
		Datasource(datasource()).Targets(targets).Height(chartHeight).Span(lineWidth / chartsInLine).
		Min(0).FillOpacity(lineFill).ShowPoints(common.VisibilityModeNever).
		Legend(common.NewVizLegendOptionsBuilder().DisplayMode(common.LegendDisplayModeTable).Placement(common.LegendPlacementBottom).ShowLegend(true).Calcs([]string{legendCalculation})).
		Tooltip(common.NewVizTooltipOptionsBuilder().Mode(common.TooltipDisplayModeMulti).Sort(common.SortOrderDescending))
}
