package report

import (
	"bytes"
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"slices"
	"strconv"
	"strings"

	"schedlab/internal/record"
)

//go:embed page.html
var pageSource string

//go:embed page.css
var pageStyle string

// A page is what page.html shows.
type page struct {
	Result                     *record.Result
	Style                      template.CSS
	State, Offered, Machine    string
	Conditions, Control, Again string
	AllClean                   bool
	Series                     []series
	Forest                     forest
	Curves                     *curveChart
	Panels                     []panel
	Figures                    figures
	Stacks                     []stackChart
	Coverage, Caveat, Refused  string
	Complaints, Refusals       []string
	Answers                    []answered
	Tally, Generator, Laws     string
	Disturbed                  string
	Fairness, Sessions         []string
	Sweeps                     []sweepChart
	Theory                     []string
	Scales                     []scaleTable
	ScaleTitle, ScaleLegend    string
	Twins                      *twinTable
	TwinTitle                  string
	Fingerprint                [][2]string
	Order                      []string
}

// Number is the number of the doubt at index i, as text and tables give it.
func (page) Number(i int) int { return i + 1 }

// figures is the table of the arms.
type figures struct {
	Head []string
	Rows []figuresRow
}

type figuresRow struct {
	series
	Mode  string
	Cells []string
	Notes []int
}

// HTML renders r as one page that needs no script and asks for no other file.
// Everything from outside is escaped; the result itself lies in the page as
// JSON in the element with id "result".
func HTML(w io.Writer, r *record.Result) error {
	r = InWords(r)
	if r.Capacity != nil {
		return capacityHTML(w, r)
	}
	t, err := template.New("page").Parse(pageSource)
	if err != nil {
		return fmt.Errorf("parsing the html template: %w", err)
	}
	p := page{
		Result: r, Style: template.CSS(pageStyle),
		State: state(r), Offered: offered(r), Machine: machine(r.Env, r.Arms), Conditions: conditions(r),
		Control: controls(r.AA), AllClean: allClean(r.AA), Again: again(r),
		Series: seriesOf(r.Arms), Forest: plant(r), Curves: curves(r.Arms), Panels: panels(r.Arms),
		Stacks: stacks(r), Coverage: coverage(r),
		Caveat: caveat(r), Refused: allRefused(r),
		Figures: tabulate(r), Complaints: complaints(r.Arms), Fingerprint: fingerprint(r),
	}
	p.Refusals = refusals(r.Refused)
	p.Answers, p.Tally = answers(r), tally(r.Expectations)
	p.Disturbed = disturbed(r.Arms)
	p.Generator, p.Laws, p.Sweeps, p.Theory = generator(r), laws(r.Laws), sweeps(r), predictions(r)
	p.Fairness, p.Sessions = fairness(r.Arms), sessions(r.Arms)
	p.Twins, p.TwinTitle = twins(r), twinTitle
	p.Scales, p.ScaleTitle, p.ScaleLegend = scaleTables(r), scaleTitle, scaleLegend
	for _, o := range r.Order {
		p.Order = append(p.Order, strings.Join(o, ", "))
	}
	var b bytes.Buffer
	if err := t.Execute(&b, p); err != nil {
		return fmt.Errorf("rendering html report: %w", err)
	}
	return emit(w, "html", func(out *bytes.Buffer) { out.Write(b.Bytes()) })
}

func allClean(aa []record.Verdict) bool {
	for _, v := range aa {
		if judgedControl(v) && !clean(v) {
			return false
		}
	}
	return slices.ContainsFunc(aa, judgedControl)
}

// tabulate sets the arms' figures, with closed-loop throughput and failures.
func tabulate(r *record.Result) figures {
	f := figures{Head: []string{}}
	for _, s := range seriesOf(r.Arms) {
		f.Rows = append(f.Rows, figuresRow{series: s, Notes: notes(r, s.Name)})
	}
	add := func(head string, cell func(i int) string) {
		f.Head = append(f.Head, head)
		for i := range f.Rows {
			f.Rows[i].Cells = append(f.Rows[i].Cells, cell(i))
		}
	}
	for _, m := range metrics() {
		cells := m.cells(r.Arms)
		add(m.label, func(i int) string { return cells[i] })
	}
	add("X_max", func(i int) string {
		if r.Arms[i].XMax == nil {
			return none
		}
		return xmax(r.Arms[i])
	})
	add("errors", func(i int) string { return count(r.Arms[i].Errors) + " of " + count(r.Arms[i].Requests) })
	jain, worth, fair := false, false, false
	for i, a := range r.Arms {
		worth, fair = worth || a.NEff > 0, fair || a.Fairness != nil
		f.Rows[i].Mode = a.Mode
		jain = jain || a.Jain != nil
	}
	for _, column := range extras(r.Arms) {
		add(column[0], func(i int) string { return column[i+1] })
	}
	if worth {
		add("n_eff a window", func(i int) string { return count(int(r.Arms[i].NEff)) })
	}
	if fair {
		add("connections served", func(i int) string { return served(r.Arms[i]) })
		add("slowest first reply", func(i int) string { return firstReply(r.Arms[i]) })
	}
	if jain {
		add("Jain's index", func(i int) string { return evenness(r.Arms[i], 3) })
	}
	return f
}

// fingerprint lists the machine and the programs: measurement.md §9.
func fingerprint(r *record.Result) [][2]string {
	e := r.Env
	known := func(s string) string {
		if s == "" {
			return "not known"
		}
		return s
	}
	affinity := func(list string) string {
		if list == "" {
			return "not pinned"
		}
		return list
	}
	limit := e.CPUMax
	if limit == "" {
		limit = "none"
	}
	started := "not known"
	if !r.Started.IsZero() {
		started = r.Started.Format("2006-01-02 15:04:05 -0700")
	}
	yes := map[bool]string{true: "yes", false: "no"}
	facts := [][2]string{{"started", started}, {"run", r.Run}, {"seed", strconv.FormatUint(r.Seed, 10)}, {"window", seconds(r.Window)}}
	if r.Capacity == nil { // a search has neither
		facts = append(facts, [][2]string{{"offered rate", offeredRate(r)}, {"blocks", blocks(r)}}...)
	}
	return append(facts, [][2]string{
		{"schedlab", known(e.Version)}, {"Go", known(e.Go)}, {"GOGC", known(e.GOGC)},
		{"CPU", known(e.CPU)}, {"CPUs", count(e.CPUs)}, {"virtualised", yes[e.Virtualised]},
		{"server's CPUs", affinity(e.ServerCPUs)}, {"server's Ps (GOMAXPROCS)", serverProcs(e, r.Arms)},
		{"load's CPUs", affinity(e.LoadCPUs)}, {"load's Ps (GOMAXPROCS)", count(e.LoadProcs)},
		{"kernel", known(e.Kernel)}, {"clock source", known(e.Clocksource)}, {"governor", known(e.Governor)},
		{"cgroup CPU limit", limit}, {"load average at start", plain(e.Load1)}, {"CPU pressure at start", known(e.PSI)},
		{"CPU time stolen", plain(e.StealRatio*100) + nbsp + "%"}, {"somaxconn", count(e.Somaxconn)}, {"port range", known(e.PortRange)},
		{"longest regular pause", pauseText(e.Pause)}, {"descriptors", group(strconv.FormatUint(e.NoFile, 10))}, {"CPU demand", plain(e.ItersPerUsec) + " iterations/µs"},
	}...)
}

func pauseText(s float64) string {
	if s <= 0 {
		return "not measured"
	}
	return seconds(s)
}
