package capacity

import "schedlab/internal/shared/fact"

// Answers of a search for capacity, and reasons why it found no more. Rates are requests per second.
type (
	broken struct {
		Rule         string
		Value, Limit float64
	}
	share        struct{ Share float64 }
	offRate      struct{ Value, Limit float64 }
	lateness     struct{ Own, Sent float64 } // of a metric in seconds, from its time and from the sending
	aRate        struct{ Rate float64 }
	ofGenerators struct{ Rate, Busy float64 }
	stopped      struct {
		Status  string
		Windows int
	}
	keptAgain struct {
		Kept, Of int
		Rate     float64
	}
	refusedWindows struct{ Refused, Windows int }
	advice         struct{ Window, Budget float64 } // seconds
	longerBudget   struct{ Budget float64 }
	deadly         struct {
		Rate  float64
		Error string
	}
	tooShort   struct{ Window, Twice float64 } // seconds
	aboveMost  struct{ Low, XMax float64 }
	capacities struct {
		Own   float64
		Other float64 `json:"baseline"`
	}
	together struct{ Arms string }
)

// What every answer has: the objective, the highest rate that was verified and the lowest that was refuted, and how many of
// the windows at that one broke it.
type found struct {
	SLO        string
	Low, High  float64
	Broken, Of int
}

// Answers with more.
type (
	foundNone struct {
		found
		Wants string
	}
	foundSlow struct {
		found
		Said string
	}
	foundDead struct {
		found
		Error string
		Rate  float64
	}
	foundEnd struct {
		found
		Error string
	}
	foundWanting struct {
		found
		Term  string  `json:"wants"`
		Wants float64 // what the term asks for
	}
	foundVerified struct {
		found
		Tried float64
	}
	foundRefuted struct {
		found
		Tried        float64
		Kept, KeptOf int
	}
	foundOpen struct {
		found
		Windows int
	}
)

var (
	trialOfNoSearch  = fact.Plain("trial-of-no-search", 0, `it does not belong to this search`)
	lowXMax          = fact.New[aboveMost]("low-x-max", 0, `it kept {{per .Low}}, more than the {{per .XMax}} of clients in a closed loop before the search: the machine was slower then, or they were too few`)
	windowsRefused   = fact.New[refusedWindows]("windows-refused", 100, `{{count .Refused}} of {{plural .Windows "window"}} are refused and count for nothing, the last for {{template "because" .}}`)
	ruleBroken       = fact.New[broken]("rule-broken", 0, `{{.Rule}}: {{printf "%.3g" .Value}}, limit {{printf "%.3g" .Limit}}`)
	rateOff          = fact.New[offRate]("rate-off", 0, `rate off (ratio): {{printf "%.3g" .Value}}, limit {{printf "%.3g" .Limit}}`)
	sentLate         = fact.New[lateness]("sent-late", 0, `sent late: the {{.Metric}} is {{millisf "%.3g" .Own}} from its time and {{millisf "%.3g" .Sent}} from the sending, which keeps the objective`)
	tooFewForTerm    = fact.Plain("too-few-for-term", 0, `too few requests to judge {{.Metric}}`)
	searchGenerator  = fact.New[ofGenerators]("search-generator", 0, `; the generator is the limit: from {{per .Rate}} on it cannot keep its schedule, its CPUs up to {{percent .Busy}} busy, and so cannot overload this arm; give it more of them with --cpus, or ask for what costs the server more`)
	searchOthers     = fact.Plain("search-others", 0, ` (stop other programs, or choose CPUs with --cpus)`)
	searchBusy       = fact.Plain("search-busy", 0, `; {{range .Because}}{{words . "share"}}{{end}}`)
	searchStopped    = fact.New[stopped]("search-stopped", 0, `; {{if eq .Status "running"}}cut off{{else}}interrupted{{end}} after {{plural .Windows "window"}}`)
	recoveryOpen     = fact.New[keptAgain]("recovery-open", 0, `; recovery open: after the overload {{count .Kept}} of {{plural .Of "window"}} at {{per .Rate}} kept it{{template "because" .}}`)
	recoveryNoise    = fact.Plain("recovery-noise", 0, `, and noise alone may break it so near its limit`)
	searchRefusals   = fact.New[refusedWindows]("search-refusals", 0, `; {{count .Refused}} of {{plural .Windows "window"}} are refused, the last for {{template "because" .}}`)
	searchScatter    = fact.New[advice]("search-scatter", 0, `; windows of one rate differ too much, or the budget is too small: twice as much of both, --window {{time .Window}} --budget {{time .Budget}}, may tell`)
	searchShort      = fact.New[longerBudget]("search-short", 0, `; the budget ended before that was settled: --budget {{time .Budget}} has room for the windows that decide`)
	losingRequests   = fact.New[share]("losing-requests", 0, `; {{percentf "%.2g" .Share}} of the requests get no good reply there, which no term forbids: add errors<=0.1%`)
	noRecovery       = fact.New[aRate]("no-recovery", 0, `; it does not recover: overloaded once, it breaks it at {{per .Rate}}, too`)
	diedOverloaded   = fact.New[deadly]("died-overloaded", 0, `; it does not recover: at {{per .Rate}} it died ({{.Error}})`)
	capacityBetween  = fact.New[found]("capacity-between", 0, `{{.Arm}} keeps {{.SLO}} up to between {{per .Low}} and {{per .High}}{{template "because" .}}`)
	capacityBeyond   = fact.New[found]("capacity-beyond", 0, `{{.Arm}} keeps {{.SLO}} at {{per .Low}}, and {{template "because" .}}`)
	capacityBelow    = fact.New[found]("capacity-below", 0, `{{.Arm}} does not keep {{.SLO}} at {{per .High}}: {{count .Broken}} of {{count .Of}} windows break it{{template "because" .}}`)
	capacityNever    = fact.New[foundNone]("capacity-never", 0, `{{.Arm}} keeps {{.SLO}} at no rate: {{count .Broken}} of {{count .Of}} windows at {{per .High}} break it, and no lower one has {{.Wants}}`)
	capacitySlow     = fact.New[foundSlow]("capacity-slow", 0, `{{.Arm}} is too slow to judge: it {{.Said}}`)
	capacityDied     = fact.New[foundDead]("capacity-died", 0, `{{.Arm}} died{{with .Rate}} at {{per .}}{{end}}: {{.Error}}{{if .Low}}; until then {{per .Low}} was verified for {{.SLO}}{{end}}`)
	capacityEnded    = fact.New[foundEnd]("capacity-ended", 0, `{{.Arm}} for {{.SLO}}: open, {{.Error}}`)
	capacityWants    = fact.New[foundWanting]("capacity-wants", 0, `{{.Arm}} for {{.SLO}}: open, {{per .High}} is refuted, and {{per .Wants}} itself, which {{.Term}} asks for, is neither verified nor refuted{{template "because" .}}`)
	capacityVerified = fact.New[foundVerified]("capacity-verified", 0, `{{.Arm}} for {{.SLO}}: open, {{per .Low}} is verified, and no higher rate is refuted{{if and .Tried .Of}} ({{count .Broken}} of {{plural .Of "window"}} at {{per .Tried}} broke it, and 2 of 3 have to){{end}}{{template "because" .}}`)
	capacityRefuted  = fact.New[foundRefuted]("capacity-refuted", 0, `{{.Arm}} for {{.SLO}}: open, {{per .High}} is refuted, and no lower rate is verified{{if and .Tried .KeptOf}} ({{count .Kept}} of {{plural .KeptOf "window"}} at {{per .Tried}} kept it, and 3 of 3 have to){{end}}{{template "because" .}}`)
	capacityOpen     = fact.New[foundOpen]("capacity-open", 0, `{{.Arm}} for {{.SLO}}: open, no rate is verified or refuted in {{plural .Windows "window"}}{{template "because" .}}`)
	nothingBroke     = fact.New[aRate]("nothing-broke", 0, `nothing up to {{per .Rate}} broke it{{template "because" .}}`)
	searchBudget     = fact.Plain("search-budget", 0, `; the budget ended there: raise --budget`)
	atCeiling        = fact.New[aRate]("at-ceiling", 0, `no rate that could be offered breaks it; more than {{per .Rate}} is more than a window has room for`)
	rateRefused      = fact.New[aRate]("rate-refused", 0, `; {{per .Rate}} was refused for {{template "because" .}}`)
	nothingOffered   = fact.Plain("nothing-offered", 0, `no rate that could be offered breaks it{{template "because" .}}`)
	searchEnded      = fact.Plain("search-ended", 0, `; the search ended there`)
	noneKeeps        = fact.New[aRate]("none-keeps", 0, `, and none down to {{per .Rate}} keeps it`)
	atFloor          = fact.New[tooShort]("at-floor", 0, `; that is the lowest rate that a window of {{printf "%g" .Window}} s can judge: --window {{time .Twice}} looks down to half of it`)
	moreCapacity     = fact.New[capacities]("more-capacity", 0, `{{.Arm}} has more capacity than {{.Baseline}}: at least {{per .Own}} against at most {{per .Other}}`)
	lessCapacity     = fact.New[capacities]("less-capacity", 0, `{{.Arm}} has less capacity than {{.Baseline}}: at most {{per .Own}} against at least {{per .Other}}`)
	notToldApart     = fact.New[together]("not-told-apart", 0, `not told apart from {{.Baseline}}, for their intervals overlap: {{.Arms}}`)
)
