package explain

import (
	"schedlab/internal/shared/fact"
	"schedlab/internal/shared/stats"
)

// Clues are the figures of a cause, of the slower and of the faster arm. Unknown figures are left out. Times are in
// seconds.
type clues struct {
	Part            string // of the time that is longer
	Workers         int    `json:"workers,omitempty"` // of the slower arm
	CPU             stats.Opt
	CPUFaster       stats.Opt `json:"cpu_faster"`
	Cost            stats.Opt // CPU time of a request
	CostFaster      stats.Opt
	Used            stats.Opt // ratio of the workers
	UsedFaster      stats.Opt
	Mutex           stats.Opt // wait of a request
	MutexFaster     stats.Opt
	GC              stats.Opt // ratio of the CPU time
	GCFaster        stats.Opt `json:"gc_faster"`
	Switches        stats.Opt // of a request
	SwitchesFaster  stats.Opt
	Overflows       stats.Opt // attempts to connect
	OverflowsFaster stats.Opt
	Away            stats.Opt // ratio of the connections
	AwayFaster      stats.Opt
	Uneven          stats.Opt // times an even share
	UnevenFaster    stats.Opt
	Overtaken       stats.Opt // ratio of the requests
	OvertakenFaster stats.Opt
	Lag             stats.Opt
	LagFaster       stats.Opt
	Late            stats.Opt
	LateFaster      stats.Opt
}

// turnedAway is the only cause of lost requests.
var turnedAway = fact.New[clues]("cause-turned-away", 0, `its queue is full, and it turns {{percentf "%.3g" .Away}} of its connections away`)

// Values of the reasons why there is no cause. Times are in seconds.
type (
	unsure struct {
		Where     string // names the requests
		Low, High float64
		Middle    float64 `json:"middle,omitempty"` // median over the blocks, where it is far from the mean
	}
	noisy struct {
		Where string
		By    float64
		Noise float64
		Whose string `json:"noise"` // who differs by so much
	}
	little struct {
		Where     string
		By, Least float64
	}
)

// The reasons why there is no cause.
var (
	notSure       = fact.New[unsure]("difference-not-sure", 0, `{{.Where}} it is not sure that they differ ({{lasts .Low}} to {{lasts .High}}{{with .Middle}}; {{lasts .}} in the middle one of the blocks{{end}})`)
	withinNoise   = fact.New[noisy]("difference-within-noise", 0, `{{.Where}} they differ by {{lasts .By}}, and {{.Whose}} by up to {{lasts .Noise}}`)
	tooLittle     = fact.New[little]("difference-too-little", 0, `{{.Where}} they differ by {{lasts .By}} at most, and the least that is explained is {{lasts .Least}}`)
	littleSoFar   = fact.New[little]("difference-little-so-far", 0, `{{.Where}} they differ by {{lasts .By}} in the mean, and the least that is explained is {{lasts .Least}}, which the interval does not exclude`)
	noRuleApplies = fact.Plain("no-rule-applies", 0, `no rule fits what the stamps and the witnesses show`)
)

// What the reasons tell why the test does not confirm a cause. Times are in seconds.
type (
	// disturbed is in the values of each.
	disturbed struct {
		Busy bool `json:"busy,omitempty"` // others took CPU time, in the run or in the test
	}
	change struct {
		disturbed
		Low, High float64
	}
	fall struct {
		disturbed
		Fell, Longer float64
	}
	moves struct {
		change
		By float64
	}
)

// The reasons why the test does not confirm a cause.
var (
	whyKnobUnsure   = fact.New[change]("why-knob-unsure", 0, `in these blocks the change may be chance ({{lasts .Low}} to {{lasts .High}}){{if not .Busy}}; explain again, with a longer --budget{{end}}`)
	whyKnobLittle   = fact.New[fall]("why-knob-little", 0, `that took away {{lasts .Fell}} of {{lasts .Longer}}, less than half`)
	whyControlMoves = fact.New[moves]("why-control-moves", 0, `the control changed it too ({{lasts .Low}} to {{lasts .High}})`)
	whyNotApart     = fact.New[change]("why-not-apart", 0, `in these blocks the difference between both may be chance ({{lasts .Low}} to {{lasts .High}}){{if not .Busy}}; explain again, with a longer --budget{{end}}`)
)
