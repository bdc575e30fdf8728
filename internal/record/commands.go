package record

import (
	"schedlab/internal/outcome"
)

// Sessions are series of requests, each on one connection.
type Sessions struct {
	Complete int       `json:"complete"`
	Broken   int       `json:"broken"` // their connection ended before the last reply
	Good     int       `json:"good"`   // requests of complete and broken sessions, by whether the reply was good
	Failed   int       `json:"failed"`
	Duration Quantiles `json:"duration"` // of the complete ones
}

// Quantiles summarise one time, in seconds, from an HDR histogram of three digits. A quantile q needs at least
// 10/(1-q) requests to be evidence. Count is the number of times that were recorded.
type Quantiles struct {
	Count int64   `json:"count"`
	Mean  float64 `json:"mean"`
	P50   float64 `json:"p50"`
	P90   float64 `json:"p90"`
	P99   float64 `json:"p99"`
	P999  float64 `json:"p999"`
	Max   float64 `json:"max"`
}

// Quantiles returns the mean, the usual quantiles and the maximum; all zero when h is empty.
func (h *Histogram) Quantiles() Quantiles {
	at := func(q float64) float64 { return h.Quantile(q).Seconds() }
	return Quantiles{h.Count(), h.hdr.Mean() / 1e9, at(.5), at(.9), at(.99), at(.999), at(1)}
}

// An Audit is the output of `audit --output json`: the runs found in a text, and the findings of
// the laws about their figures.
type Audit struct {
	Schema   int            `json:"schema"`
	File     string         `json:"file"`
	Format   string         `json:"format"`   // of the runs: wrk2, httperf
	Runs     []AuditRun     `json:"runs"`     // in the order of their lines
	Findings []AuditFinding `json:"findings"` // impossible first, then suspicious, then open
	NotRead  []AuditLines   `json:"not_read"` // lines that belong to no run or that cannot be read
}

// An AuditRun is one run as read from the text.
// A tool's own words are already turned into the names and base units that the laws use.
type AuditRun struct {
	Tool string `json:"tool"` // the tool that printed it, "figures" for key=value, "table", or "prose"
	Name string `json:"name,omitempty"`
	Line int    `json:"line"` // its first line, from 1
	End  int    `json:"end"`  // its last line
	Loop string `json:"loop"` // closed; paced (held to a rate, times count from the sending); open (times count from the schedule); unknown
	// Figures are by name: seconds, bytes, counts, requests per second, ratios 0..1.
	Figures map[string]float64 `json:"figures"`
}

// An AuditFinding is the verdict of one law on one run, or on several runs.
// Law names the law, Code its sentence, and Numbers and Names fill the sentence in. Line is the first line
// of the run, or of one of several runs.
type AuditFinding struct {
	// Outcome tells whether the figures are possible. With Yes they are, but are likely to mislead a reader; with Open
	// the figures are too few to tell.
	Outcome outcome.Outcome `json:"outcome"`
	Answer  string          `json:"answer"` // Outcome in words: impossible, possible, open; report adds it
	Law     string          `json:"law"`
	Code    Code            `json:"code"`
	Message string          `json:"message"` // report adds it
	Numbers Values          `json:"numbers"`
	Names   Names           `json:"names,omitempty"`
	Run     int             `json:"run"` // index of the run, -1 for several
	Line    int             `json:"line"`
}

// Fact returns the finding as a Fact, which report puts into words.
func (f AuditFinding) Fact() Fact { return Fact{Code: f.Code, Values: f.Numbers, Names: f.Names} }

// AuditLines are lines that belong to no run, or one line that cannot be read.
type AuditLines struct {
	Line   int    `json:"line"`
	End    int    `json:"end"`
	Text   string `json:"text"`             // the first line
	Reason string `json:"reason,omitempty"` // why the line cannot be read; empty for lines of no run
}
