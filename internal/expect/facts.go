package expect

import "schedlab/internal/record"

// Answers to an expectation, and reasons why there is none.
var (
	// Each sentence is a template that is filled from the values and names of its fact. The
	// templates in the second group are parts of several sentences.
	tally          = record.Sentence("tally", `{{template "sides" .}}{{if .Values.outside}}{{count .Values.outside}} of {{plural .Values.blocks "block"}} outside: {{count .Values.below}} below, {{count .Values.above}} above{{else}}true in {{count .Values.yes}} of {{plural .Values.blocks "block"}}{{end}}`)
	oneProbe       = record.Sentence("one-probe", `{{template "sides" .}}x_max is one figure, and within {{percent .Values.within}} of it the answer changes`)
	borderOpen     = record.Sentence("border-open", `{{template "because" .}}: the blocks do not tell on which side of the limit it lies`)
	bothFact       = record.Sentence("both", `{{template "list" .}}`)
	verdictOpen    = record.Sentence("verdict-open", `{{.Metric}} of {{.Arm}} is inconclusive, {{template "bounds" .}}`)
	noInterval     = record.Sentence("no-interval", `{{.Metric}} of {{.Arm}} has {{template "bounds" .}}`)
	neitherSide    = record.Sentence("neither-side", `{{.Metric}} of {{.Arm}} is between {{change .Values.low}} and {{change .Values.high}}, neither within {{percent .Values.same}} nor outside`)
	intervalOpen   = record.Sentence("interval-open", `{{.Metric}} of {{.Arm}} is between {{change .Values.low}} and {{change .Values.high}}`)
	nothingExplain = record.Sentence("nothing-to-explain", `{{.Arm}} and {{.Baseline}} differ by less than {{time .Values.least}} in the mean: nothing to explain`)
	noChallenger   = record.Sentence("no-challenger", `none of {{.Names.arms}} is a challenger of this run`)
)

// Parts of sentences.
var (
	_ = record.Sentence("sides", `{{with .Names.sides}}{{.}} in the median; {{end}}`)
	_ = record.Sentence("bounds", `{{if .Values.low}}{{change .Values.low}} to {{change .Values.high}}{{else}}no interval after {{plural .Values.blocks "block"}}{{end}}`)
)
