package doubt

import (
	"schedlab/internal/shared/fact"
	"schedlab/internal/shared/outcome"
)

// Fitness tells whether a machine is fit to measure on.
type Fitness struct {
	Verdict    string // the outcome's phrase, with its reservations
	More       int    // how many more findings it rests on than Because lists
	Passing    bool   `json:"passing,omitempty"` // it rests on other programs alone, and these may end
	Untold     int    `json:"untold,omitempty"`  // of an open one: findings where the machine does not tell
	Checks     int    `json:"checks,omitempty"`  // of an open one: all findings
	*NoiseLoad        // nil if no noise was measured
}

// NoiseLoad is the load that a machine's noise was measured with.
type NoiseLoad struct {
	Scenario string
	Asked    string // what a request of it does
	Sleeps   bool   // its requests sleep
}

// unfit reports whether the machine is not fit.
func (f Fitness) unfit() bool { return f.Verdict == outcome.Machine.Phrase(outcome.No) }

// MachineVerdict is what doctor says of a machine, and the doubt of a run on one that is not fit.
var MachineVerdict = fact.Disturbing(fact.New[Fitness]("machine-verdict", 0, `{{.Verdict}}{{with .Untold}}: the machine does not tell {{count .}} of {{count $.Checks}} things that were looked for{{end}}{{range $i, $f := .Because}}{{if or $i $.Untold}}; {{else}}: {{end}}{{gist .}}{{end}}{{with .More}}; and {{count .}} more{{end}}{{with .Scenario}}; noise measured with scenario {{.}}{{with $.Asked}} ({{.}}){{end}}{{end}}{{if .Sleeps}}; requests that only compute may see more: `+"`schedlab doctor pool-cpu`"+`{{end}}`,
	fact.Also("gist", `{{.Verdict}}{{range $i, $f := .Because}}{{if $i}}; {{else}}: {{end}}{{gist .}}{{end}}`)), Fitness.unfit)
