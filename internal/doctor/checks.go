package doctor

import "fmt"

// A check looks at one thing.
type check struct {
	name   string
	spoils string
	look   func(*Machine) seen
}

// seen is what a check found; the zero value is that it had nothing to look at.
type seen struct {
	state State
	found string
	fix   string
}

func fine(format string, args ...any) seen { return seen{OK, fmt.Sprintf(format, args...), ""} }

// graded is s with the worse state that holds, if one does, and its fix.
func (s seen) graded(bad, warn bool, fix string) seen {
	switch {
	case bad:
		s.state, s.fix = Bad, fix
	case warn:
		s.state, s.fix = Warn, fix
	}
	return s
}

func unknown(format string, args ...any) seen { return seen{Unknown, fmt.Sprintf(format, args...), ""} }

// checks are all of them, in the order they are reported.
func checks() []check {
	return []check{
		{"cpus", "the load takes CPU time from the server that it measures, and late requests look like slow replies", (*Machine).cpus},
		{"siblings", "two hardware threads of one core slow each other down: the load is in the server's times", (*Machine).siblings},
		{"cpu limit", "a process beyond its cgroup's share stands still until the next period, 100 ms as a rule", (*Machine).cpuLimit},
		{"governor", "a clock rate that follows the load makes light load slow and early windows unlike late ones", (*Machine).governor},
		{"other programs", "they take CPU time from server and load: intervals get wider, and what they alone made different is refused", (*Machine).others},
		{"steal", "the hypervisor gives the CPUs to others: times grow and no counter of the server tells", (*Machine).steal},
		{"pressure", "tasks waited for a CPU or for memory in the last ten seconds; a measurement would have waited as well", (*Machine).pressure},
		{"memory", "a server that is short of memory is reclaimed from, or ended, amid a window", (*Machine).memory},
		{"swap", "a page that has to come back from disk takes milliseconds of somebody's request", (*Machine).swap},
		{"descriptors", "connections past the limit fail, in the generator as in the server", (*Machine).descriptors},
		{"ports", "with a connection for each request, a window ends when the local ports are used up", (*Machine).ports},
		{"backlog", "connections beyond it are dropped by the kernel and tried again a second later", (*Machine).backlog},
		{"output", "a record that cannot be written ends the run", (*Machine).output},
		{"environment", "these settings reach every server that is compared, and shape its figures", (*Machine).environment},
		{"clock source", "a clock that is slow to read is in every stamp and in the generator's time", (*Machine).clockSource},
		{"clock steps", "times of day in records and of other programs jump; this program's durations are monotonic and do not", (*Machine).clockSteps},
		{"timer", "a load that sleeps (--rest wait, --engine vegeta, a CPU shared with the server) sends late by as much", (*Machine).timer},
		{"pause", "a pause is in the times of whatever runs then, so blocks differ more and intervals get wider", (*Machine).pause},
		{"null server", "a gap that even an idle server has is in some arm's tail, so blocks differ more and intervals get wider", (*Machine).gap},
		{"engine", "its own time is in every response time, and hides differences smaller than itself", (*Machine).engine},
		{"noise", "differences below it cannot be told from chance", (*Machine).noise},
	}
}
