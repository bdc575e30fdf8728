package doctor

import "schedlab/internal/record"

// A check looks at one thing.
type check struct {
	name string
	look func(*Machine) seen
}

// seen is what a check found; the zero value is that it had nothing to look at.
type seen struct {
	state State
	fact  record.Fact
}

func fine(code record.Code, v record.Values, n record.Names, because ...record.Fact) seen {
	return seen{OK, record.Fact{Code: code, Values: v, Names: n, Because: because}}
}

// graded is s with the worse state that holds, if one does.
func (s seen) graded(bad, warn bool) seen {
	switch {
	case bad:
		s.state = Bad
	case warn:
		s.state = Warn
	}
	return s
}

// untold is what is found where the machine does not tell, or for what error.
func untold(err error) seen {
	s := seen{Unknown, record.Fact{Code: record.NotTold}}
	if err != nil {
		s.fact.Names = record.Names{"error": err.Error()}
	}
	return s
}

// checks are all of them, in the order they are reported.
func checks() []check {
	return []check{
		{"cpus", (*Machine).cpus},
		{"siblings", (*Machine).siblings},
		{"cpu limit", (*Machine).cpuLimit},
		{"governor", (*Machine).governor},
		{"other programs", (*Machine).others},
		{"steal", (*Machine).steal},
		{"pressure", (*Machine).pressure},
		{"memory", (*Machine).memory},
		{"swap", (*Machine).swap},
		{"descriptors", (*Machine).descriptors},
		{"ports", (*Machine).ports},
		{"backlog", (*Machine).backlog},
		{"output", (*Machine).output},
		{"environment", (*Machine).environment},
		{"clock source", (*Machine).clockSource},
		{"clock steps", (*Machine).clockSteps},
		{"timer", (*Machine).timer},
		{"pause", (*Machine).pause},
		{"null server", (*Machine).gap},
		{"engine", (*Machine).engine},
		{"noise", (*Machine).noise},
	}
}
