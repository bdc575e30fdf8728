package race

import "schedlab/internal/shared/fact"

// Answers of a race, and reasons why an arm is out.
type (
	beatenBy struct {
		Ratio, Low, High float64 // the arm's figure divided by the better arm's, with the interval of the ratio
		After            int     // blocks
	}
	afterBlocks struct{ After int }
	ended       struct {
		After int
		Error string
	}
	standing struct {
		Arms   string // names of the arms that still race
		Many   bool   `json:"many,omitempty"` // the answer begins with the number of these arms and not with their names
		Best   int    // number of these arms
		Raced  int    // number of all arms
		Blocks int
		Twice  float64 `json:"twice,omitempty"` // a longer budget in seconds, which may tell the arms apart; 0 if it would not help
	}
)

var (
	beaten = fact.New[beatenBy]("race-beaten", 0, `{{metric .Metric}} is {{printf "%.3g" .Ratio}} times that of {{.Baseline}} ({{printf "%.3g" .Low}} to {{printf "%.3g" .High}}), after {{plural .After "block"}}`)
	faulty = fact.New[afterBlocks]("race-faulty", 0, `{{template "because" .}}, after {{plural .After "block"}}`)
	lost   = fact.New[ended]("race-lost", 0, `{{.Error}}, after {{plural .After "block"}}`)
	// Many arms are counted first and named later, so that the answer is short.
	_ = fact.Part("race-best", `{{if .Many}}{{count .Best}} of {{count .Raced}} are the best{{else}}{{.Arms}} are the best of {{count .Raced}}{{end}}`)
	_ = fact.Part("race-maybe-best", `{{if .Many}}any of {{count .Best}} of {{count .Raced}} arms{{else}}{{.Arms}}{{end}} may be the best{{if not .Many}} of {{count .Raced}}{{end}}`)

	oneLeft      = fact.New[standing]("race-one-left", 0, `{{.Arm}} is the best of {{count .Raced}}`)
	aloneLeft    = fact.New[standing]("race-alone-left", 0, `{{.Arm}} is left of {{count .Raced}}, and was told apart from none before other servers ended`)
	sameLeft     = fact.New[standing]("race-same-left", 0, `{{template "race-best" .}}{{if not .Many}}: all the same{{else}}, all the same: {{.Arms}}{{end}}`)
	tradeLeft    = fact.New[standing]("race-trade-left", 0, `{{template "race-best" .}}{{if .Many}}: {{.Arms}}{{end}}; what one of them is better at, another is worse at`)
	openLeft     = fact.New[standing]("race-open-left", 0, `{{template "race-maybe-best" .}}, not told apart after {{plural .Blocks "block"}}{{if .Many}}: {{.Arms}}{{end}}{{with .Twice}}; --budget {{time .}} may tell them apart{{end}}`)
	nothingRaced = fact.New[standing]("race-nothing", 0, `no arm is known to be the best of {{count .Raced}}{{if .Because}}; the times of each arm still in the race are no evidence: {{template "because" .}}{{end}}`)
)
