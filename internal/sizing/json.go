package sizing

import (
	"io"
	"math"

	"schedlab/internal/queueing"
	"schedlab/internal/record"
	"schedlab/internal/report/document"
)

// sizeJSON is the schema of `size --output json`. Times are in seconds, rates per second, ratios
// 0..1. If no number of workers keeps the SLO, workers is 0 and most_rate is present.
type sizeJSON struct {
	Schema   int           `json:"schema"`
	Headline string        `json:"headline"`
	Answer   record.Fact   `json:"answer"` // the headline as data
	SLO      string        `json:"slo,omitempty"`
	Assumed  string        `json:"slo_assumed,omitempty"` // the SLO term that was added by default
	From     string        `json:"from"`                  // source of the demand
	Rate     float64       `json:"rate"`
	Held     float64       `json:"held"`
	CPU      float64       `json:"cpu"`
	SCV      float64       `json:"scv"`
	Cores    int           `json:"cores"`
	Margin   float64       `json:"margin"`
	Workers  int           `json:"workers"`
	Queue    int           `json:"queue"`
	Least    int           `json:"least_without_margin,omitempty"`
	Hopeless string        `json:"hopeless,omitempty"`
	MostRate float64       `json:"most_rate,omitempty"`
	Expected *outcomeJSON  `json:"expected,omitempty"`
	Strained *outcomeJSON  `json:"strained,omitempty"`
	Wrong    []outcomeJSON `json:"wrong,omitempty"`
	Waits    []outcomeJSON `json:"waits,omitempty"`
	Knee     int           `json:"knee,omitempty"` // number of workers at the knee of waits
	// Comparison is the result of the formula for such a station, to compare with Expected. It is not a
	// bound.
	Comparison *formulaJSON  `json:"comparison,omitempty"`
	Doubts     []record.Fact `json:"doubts"`
	Test       string        `json:"test,omitempty"`
	// Verified is the result of --verify. Unverified is the reason why it has no result.
	Verified   *Verification `json:"verified,omitempty"`
	Unverified string        `json:"unverified,omitempty"`
}

type formulaJSON struct {
	Formula string  `json:"formula"`
	Mean    float64 `json:"mean"` // response time, seconds
}

// outcomeJSON holds the figures of one setting. A figure that grows without bound is null.
type outcomeJSON struct {
	What     string              `json:"what,omitempty"`
	Workers  int                 `json:"workers"` // 0: one for each request
	Queue    *int                `json:"queue"`   // null: no bound
	Rate     float64             `json:"rate"`
	Formula  string              `json:"formula"`
	Mean     *float64            `json:"mean"`
	Response map[string]*float64 `json:"response"`
	WaitMean *float64            `json:"wait_mean"`
	Wait     map[string]*float64 `json:"wait"`
	Loss     float64             `json:"loss"`
	Busy     float64             `json:"workers_busy"`
	Cores    float64             `json:"cores_busy"`
	Kept     *bool               `json:"kept,omitempty"`
}

func (s *Page) outcome(o queueing.Outcome) *outcomeJSON {
	j := outcomeJSON{
		Workers: o.Workers, Rate: o.Rate, Formula: s.formula(o), Mean: finite(o.Mean), WaitMean: finite(o.Wait),
		Response: map[string]*float64{}, Wait: map[string]*float64{}, Loss: o.Loss, Busy: o.Busy, Cores: o.Cores,
	}
	if o.Queue != queueing.Unbounded {
		j.Queue = &o.Queue
	}
	for _, q := range s.Quantiles() {
		j.Response[QuantileName(q)], j.Wait[QuantileName(q)] = finite(o.Response(q)), finite(o.Waited(q))
	}
	if s.SLO != nil {
		j.Kept = new(s.Ask.Keep(o))
	}
	return &j
}

// finite returns a pointer to v; nil, which JSON shows as null, if v is infinite or not a number.
func finite(v float64) *float64 {
	if math.IsInf(v, 0) || math.IsNaN(v) {
		return nil
	}
	return &v
}

func (s *Page) json() sizeJSON {
	a := s.Advice
	j := sizeJSON{
		Schema: 1, Headline: s.lead().String() + ".", Answer: s.lead(), SLO: s.SLO.String(), From: s.Demand.From, Rate: s.Ask.Rate, Held: s.Ask.Service + s.Ask.Block, CPU: s.Ask.Service,
		SCV: s.Ask.SCV, Cores: s.Ask.Cores, Margin: s.Ask.Margin, Workers: a.Workers, Queue: a.Queue, Least: a.Least,
		Hopeless: s.hopeless().String(), MostRate: a.MostRate, Doubts: s.Doubts(),
	}
	if s.Assumed != "" {
		j.Assumed = s.Assumed
	}
	for i, o := range s.Waits {
		j.Waits = append(j.Waits, *s.outcome(o))
		if i == s.Knee {
			j.Knee = o.Workers
		}
	}
	if s.SLO == nil {
		return j
	}
	j.Expected = s.outcome(a.Expected)
	if second := s.Comparison(); second.Mean != nil && finite(*second.Mean) != nil {
		j.Comparison = &formulaJSON{second.Formula, *second.Mean}
	}
	if a.Workers == 0 {
		return j
	}
	j.Strained, j.Test = s.outcome(a.Strained), s.Test
	for _, c := range a.Wrong {
		o := s.outcome(c.Outcome)
		o.What = off(c).String()
		j.Wrong = append(j.Wrong, *o)
	}
	j.Unverified = s.Unverified
	if s.Verified != nil {
		j.Verified = s.Verified
	}
	return j
}

// Write writes the page to w. format is text, json or markdown. Text is brief unless verbose.
func (s *Page) Write(w io.Writer, format string, verbose bool) error {
	switch format {
	case "json":
		return record.WriteJSON(w, s.json())
	case "markdown":
		_, err := io.WriteString(w, s.document(true).Markdown())
		return err
	}
	_, err := io.WriteString(w, s.document(verbose).Text(document.Options{}))
	return err
}
