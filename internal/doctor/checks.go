package doctor

import "schedlab/internal/record"

// A check examines one property of the machine.
type check struct {
	name   string
	look   func(*Machine) seen
	spoils string // what a bad finding does to a measurement
	untold string // text of the finding where the machine does not tell; "" for a check that always can
}

// seen is the result of a check. The zero value means that there was nothing to look at.
type seen struct {
	state State
	fact  record.Fact
}

// fine returns the result OK with a fact. [seen.graded] makes it worse.
func fine(code record.Code, v record.Values, n record.Names, because ...record.Fact) seen {
	return seen{OK, record.Fact{Code: code, Values: v, Names: n, Because: because}}
}

// graded returns s with state Bad if bad, else Warn if warn, else its own state.
func (s seen) graded(bad, warn bool) seen {
	switch {
	case bad:
		s.state = Bad
	case warn:
		s.state = Warn
	}
	return s
}

// untold returns the result Unknown, with err as the reason if it is not nil.
func untold(err error) seen {
	s := seen{Unknown, record.Fact{Code: notTold}}
	if err != nil {
		s.fact.Names = record.Names{"error": err.Error()}
	}
	return s
}

// checks returns all checks in the order of the report.
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
