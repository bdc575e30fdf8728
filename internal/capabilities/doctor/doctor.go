// Package doctor finds what on a machine will spoil a measurement, and says how to mend it. It reads
// the kernel's files below a given root, and judges figures that its caller measured. It starts no
// server, sends no request and changes nothing.
package doctor

import (
	"fmt"
	"io/fs"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"schedlab/internal/shared/cpuset"
	"schedlab/internal/shared/doubt"
	"schedlab/internal/shared/fact"
	"schedlab/internal/shared/outcome"
	"schedlab/internal/shared/record"
	"schedlab/internal/shared/stats"
)

// A Finding is the finding of one check. Check is the check's name, as docs/guide/doctor.md lists
// them. Outcome tells whether the machine is fit in this respect: No spoils the measurement, mend it
// first; Open means that the check could not be made, and Found has the reason.
type Finding struct {
	Check   string          `json:"check"`
	Outcome outcome.Outcome `json:"outcome"`
	Doubt   bool            `json:"doubt,omitempty"` // of a Yes: it spoils some measurements, or each a little
	Fact    fact.Fact       `json:"fact"`            // the finding as data; Found and Fix are its sentences
	Found   string          `json:"found"`
	// Spoils tells what such a finding does to a measurement. Fix is a command or a sentence, "" when
	// there is nothing to mend.
	Spoils string `json:"spoils"`
	Fix    string `json:"fix,omitempty"`
}

// A Report holds the findings of all checks and the verdict on the machine. Findings has the checks
// that had something to look at, in the order of checks. Examine makes a Report; it is only read
// afterwards.
//
// Schema is the version of the JSON form, 1. Outcome is No if a finding's outcome is No. Otherwise it is Open if most findings are
// Open, as on a machine that shows hardly any of its files. A fit machine with a doubt in a finding is fit with reservations.
type Report struct {
	Schema   int             `json:"schema"`
	Outcome  outcome.Outcome `json:"outcome"`
	Answer   string          `json:"answer"`   // the outcome's phrase, with its reservations
	Sentence string          `json:"sentence"` // the verdict with its reasons, briefly
	// Limits are properties of the machine that bound every result, even on a fit machine.
	Limits   fact.Fact `json:"limits,omitzero"`
	Findings []Finding `json:"findings"`
	Engine   *Engine   `json:"engine,omitempty"` // nil when it was not measured
	Noise    *Noise    `json:"noise,omitempty"`  // nil when it was not measured
}

// A Machine holds the inputs of the checks. A figure that the caller did not measure stays zero,
// and its check is left out.
//
// The package works in one step: Examine runs the table of checks over a Machine. A check is a
// method of Machine that returns its Finding. Checks are in the file of their subject: cpus.go,
// limits.go, noise.go, timing.go. The words are in facts.go, and write.go prints the report.
// WatchClock and Lateness are helpers for a caller that measures.
//
// Clock, Gap, Engine and Noise come from WatchClock, from a client of an almost idle server, from
// the load engine's measurement of itself, and from NewNoise. Noise is nil if it was not measured.
type Machine struct {
	Root                 fs.FS // root of the machine's files: it contains proc and sys
	ServerCPUs, LoadCPUs cpuset.Set
	Pinned               bool          // servers and load are bound to their CPUs
	Files                unix.Rlimit   // on open descriptors; zero if it was not read
	Environ              []string      // like os.Environ
	Out                  string        // directory of run records
	Need                 uint64        // bytes that a record may take there
	Scenario             string        // scenario of the comparisons to come; "" is quick
	Window               time.Duration // the scenario's window; 0: the window of a quick comparison

	// The figures below are measured. The fields above come from the machine or the command line at once.
	// Others tells who used the CPUs while they were only watched. Loaded covers the other measurements
	// as well, since a hypervisor may take more of CPUs in use. Each is nil where the machine does not tell.
	Others, Loaded *record.Others
	Clock          Steps
	// Lateness holds, ascending, how late the sleeps of the generator ended.
	Lateness []time.Duration
	// Pause is how long the platform takes a busy thread off its CPU; negative if it cannot be
	// measured.
	Pause  time.Duration
	Gap    Gap
	Engine Engine
	Noise  *Noise
}

// Examine runs the checks that have inputs and returns the report. It reads files below m.Root and
// asks the kernel about m.Out. Where the machine does not tell enough for a check, its finding is
// Open; nothing is an error.
func Examine(m *Machine) Report {
	r := Report{Schema: 1, Limits: m.limits(), Noise: m.Noise}
	if m.Engine.Err == nil && m.Engine.Rate > 0 {
		r.Engine = &m.Engine
	}
	for _, c := range checks() {
		f := c.look(m)
		if f.Outcome == "" {
			continue
		}
		f.Fact = f.Fact.And(checked{c.name})
		if f.Outcome == outcome.Open {
			f.Fact = f.Fact.And(silent{c.untold})
		}
		f.Check, f.Found, f.Spoils = c.name, f.Fact.String(), c.spoils
		if f.wrong() {
			f.Fix = f.Fact.Part("fix")
		}
		r.Findings = append(r.Findings, f)
	}
	switch {
	case r.count(outcome.No) > 0:
		r.Outcome = outcome.No
	case 2*r.count(outcome.Open) > len(r.Findings):
		r.Outcome = outcome.Open
	default:
		r.Outcome = outcome.Yes
	}
	r.Answer = outcome.Machine.Phrase(r.Outcome)
	if r.Outcome == outcome.Yes && !r.Quiet() {
		r.Answer += " with reservations"
	}
	r.Sentence = r.Summary(len(r.Findings)).String()
	return r
}

// count returns how many findings have an outcome.
func (r Report) count(o outcome.Outcome) (n int) {
	for _, f := range r.Findings {
		n += stats.Count(f.Outcome == o)
	}
	return n
}

// wrong reports whether there is something to mend.
func (f Finding) wrong() bool { return f.Outcome == outcome.No || f.Doubt }

// Quiet reports whether the machine is fit without reservations.
func (r Report) Quiet() bool {
	return r.Outcome == outcome.Yes && !slices.ContainsFunc(r.Findings, Finding.wrong)
}

// Summary returns the verdict, with at most most of the findings behind it, and the load that the
// noise was measured with. For an unfit machine, only what makes it so is behind it.
func (r Report) Summary(most int) fact.Fact {
	var because []fact.Fact
	for _, f := range r.Findings {
		if f.Outcome == outcome.No || f.Doubt && r.Outcome != outcome.No {
			because = append(because, f.Fact)
		}
	}
	shown := min(len(because), most)
	v := doubt.Fitness{
		Verdict: r.Answer, More: len(because) - shown,
		Passing: len(because) > 0 && !slices.ContainsFunc(because, func(f fact.Fact) bool { return !othersNow.Code.Is(f) }),
	}
	if r.Outcome == outcome.Open {
		v.Untold, v.Checks = r.count(outcome.Open), len(r.Findings)
	}
	if n := r.Noise; n != nil && len(n.Judges) > 0 {
		v.NoiseLoad = &doubt.NoiseLoad{Scenario: n.Scenario, Asked: n.Asked, Sleeps: n.Sleeps}
	}
	return doubt.MachineVerdict.Of(v).Since(because[:shown]...)
}

// limits returns the properties that bound every result of this machine, however fit it is: one
// server CPU, a hypervisor, steal, pauses. The report shows them even if no check warns. Without any it
// returns the zero Fact.
func (m *Machine) limits() fact.Fact {
	var found []fact.Fact
	add := func(seen bool, f fact.Fact) {
		if seen {
			found = append(found, f)
		}
	}
	pause := max(m.Pause, m.Gap.Longest)
	add(len(m.ServerCPUs) == 1, limitOneCPU)
	add(strings.Contains(m.text("proc/cpuinfo"), " hypervisor"), limitVirtual)
	add(m.stolen() >= leastSteal, limitSteal.Of(takenShare{m.stolen()}))
	add(pause > 0, limitPause.Of(longestPause{pause}))
	if len(found) == 0 {
		return fact.Fact{}
	}
	return machineLimits.Since(found...)
}

// A check examines one property of the machine. The report prints spoils and untold unchanged. look returns a
// Finding with only Outcome, Doubt and Fact, or the zero Finding if there was nothing to look at: the check is then left out.
type check struct {
	name   string
	look   func(*Machine) Finding
	spoils string // what a bad finding does to a measurement
	untold string // text of the finding where the machine does not tell; "" for a check that always can
}

// fine returns the finding Yes with a fact of a kind. [Finding.graded] makes it worse. A check can thus be written
// as one expression: the fact, and the conditions for No and for a doubt.
func fine(of fact.Fact, because ...fact.Fact) Finding {
	return Finding{Outcome: outcome.Yes, Fact: of.Since(because...)}
}

// graded returns f with the outcome No if bad, else with a doubt if doubt, else as it is.
func (f Finding) graded(bad, doubt bool) Finding {
	if bad {
		f.Outcome = outcome.No
	}
	f.Doubt = doubt && !bad
	return f
}

// untold returns the finding Open, with err as the reason if it is not nil.
func untold(err error) Finding {
	var v notTelling
	if err != nil {
		v.Error = err.Error()
	}
	return Finding{Outcome: outcome.Open, Fact: notTold.Of(v)}
}

// checks returns all checks in the order of the report: CPUs first, then other users of the
// machine, the limits of the kernel, clocks and timers, and last the checks that need servers.
func checks() []check {
	return []check{
		{"cpus", (*Machine).cpus, "the load takes CPU time from the server that it measures, and late requests look like slow replies", "the CPUs that this process may use are not told here"},
		{"siblings", (*Machine).siblings, "two hardware threads of one core slow each other down: the load is in the server's times", "which CPUs share a core is not told here"},
		{"cpu limit", (*Machine).cpuLimit, "a process beyond its cgroup's share stands still until the next period, 100 ms as a rule", "cgroups are not told of here"},
		{"governor", (*Machine).governor, "a clock rate that follows the load makes light load slow and early windows unlike late ones", "not told here, as in most virtual machines: the host decides the clock rate"},
		{"other programs", (*Machine).others, "they take CPU time from server and load: intervals get wider, and what they alone made different is refused", "the CPU time of other programs is not told here"},
		{"steal", (*Machine).steal, "the hypervisor gives the CPUs to others: times grow and no counter of the server tells", "steal is not told here"},
		{"pressure", (*Machine).pressure, "tasks waited for a CPU or for memory in the last ten seconds; a measurement would have waited as well", "pressure is not told here (a kernel of 4.20 or later with psi=1 does)"},
		{"memory", (*Machine).memory, "a server that is short of memory is reclaimed from, or ended, amid a window", "the memory available is not told here"},
		{"swap", (*Machine).swap, "a page that has to come back from disk takes milliseconds of somebody's request", "swap is not told here"},
		{"descriptors", (*Machine).descriptors, "connections past the limit fail, in the generator as in the server", ""},
		{"ports", (*Machine).ports, "with a connection for each request, a window ends when the local ports are used up", "the range of local ports is not told here"},
		{"backlog", (*Machine).backlog, "connections beyond it are dropped by the kernel and tried again a second later", "net.core.somaxconn is not told here"},
		{"output", (*Machine).output, "a record that cannot be written ends the run", ""},
		{"environment", (*Machine).environment, "these settings reach every server that is compared, and shape its figures", ""},
		{"clock source", (*Machine).clockSource, "a clock that is slow to read is in every stamp and in the generator's time", "not told here"},
		{"clock steps", (*Machine).clockSteps, "times of day in records and of other programs jump; this program's durations are monotonic and do not", ""},
		{"timer", (*Machine).timer, "a load that sleeps (--rest wait, --engine vegeta, a CPU shared with the server) sends late by as much", ""},
		{"pause", (*Machine).pause, "a pause is in the times of whatever runs then, so blocks differ more and intervals get wider", "threads cannot be bound to CPUs here, so pauses are not measured"},
		{"null server", (*Machine).gap, "a gap that even an idle server has is in some arm's tail, so blocks differ more and intervals get wider", ""},
		{"engine", (*Machine).engine, "its own time is in every response time, and hides differences smaller than itself", ""},
		{"noise", (*Machine).noise, "differences below it cannot be told from chance", ""},
	}
}

// text returns a file's content without surrounding space. It returns "" when the file cannot be
// read: the machine does not tell.
func (m *Machine) text(name string) string {
	data, _ := fs.ReadFile(m.Root, name)
	return strings.TrimSpace(string(data))
}

// number reads a file that holds one integer. ok is false if the file cannot be read or holds
// something else.
func (m *Machine) number(name string) (n int, ok bool) {
	n, err := strconv.Atoi(m.text(name))
	return n, err == nil
}

// kibibytes returns the value of a line of /proc/meminfo, converted from KiB to bytes.
func (m *Machine) kibibytes(key string) (bytes uint64, ok bool) {
	_, value, _ := strings.Cut("\n"+m.text("proc/meminfo"), "\n"+key+":")
	_, err := fmt.Sscan(value, &bytes)
	return bytes << 10, err == nil
}
