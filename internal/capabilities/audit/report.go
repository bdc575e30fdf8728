package audit

import (
	"schedlab/internal/shared/fact"
	"schedlab/internal/shared/outcome"
)

// A Report is the output of `audit --output json`: the runs found in a text, and the findings of
// the laws about their figures.
type Report struct {
	Schema   int       `json:"schema"`
	File     string    `json:"file"`
	Format   string    `json:"format"`   // of the runs: wrk2, httperf
	Runs     []Run     `json:"runs"`     // in the order of their lines
	Findings []Finding `json:"findings"` // impossible first, then suspicious, then open
	NotRead  []Lines   `json:"not_read"` // lines that belong to no run or that cannot be read
}

// A Run is one run as read from the text.
// A tool's own words are already turned into the names and base units that the laws use.
type Run struct {
	Tool string `json:"tool"` // the tool that printed it, "figures" for key=value, "table", or "prose"
	Name string `json:"name,omitempty"`
	Line int    `json:"line"` // its first line, from 1
	End  int    `json:"end"`  // its last line
	Loop string `json:"loop"` // closed; paced (held to a rate, times count from the sending); open (times count from the schedule); unknown
	// Figures are by name: seconds, bytes, counts, requests per second, ratios 0..1.
	Figures map[string]float64 `json:"figures"`
}

// A Finding is the verdict of one law on one run, or on several runs.
// Law names the law, Code its sentence, and Numbers and Names fill the sentence in. Line is the first line
// of the run, or of one of several runs.
type Finding struct {
	// Outcome tells whether the figures are possible. With Yes they are, but are likely to mislead a reader; with Open
	// the figures are too few to tell.
	Outcome outcome.Outcome    `json:"outcome"`
	Answer  string             `json:"answer"` // Outcome in words: impossible, possible, open; report adds it
	Law     string             `json:"law"`
	Code    fact.Code          `json:"code"`
	Message string             `json:"message"` // report adds it
	Numbers map[string]float64 `json:"numbers"`
	Names   map[string]string  `json:"names,omitempty"`
	Run     int                `json:"run"` // index of the run, -1 for several
	Line    int                `json:"line"`
}

func findingOf(f fact.Fact) Finding {
	numbers, names := f.Told()
	return Finding{Code: f.Code, Numbers: numbers, Names: names}
}

// Fact returns the finding as a Fact, which report puts into words.
func (f Finding) Fact() fact.Fact {
	return fact.Told(f.Code, f.Numbers, f.Names)
}

// Lines are lines that belong to no run, or one line that cannot be read.
type Lines struct {
	Line   int    `json:"line"`
	End    int    `json:"end"`
	Text   string `json:"text"`             // the first line
	Reason string `json:"reason,omitempty"` // why the line cannot be read; empty for lines of no run
}
