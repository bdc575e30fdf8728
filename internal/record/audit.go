package record

// An Audit is the output of `audit --output json`: the runs found in a text, and the findings of
// the laws about their figures.
type Audit struct {
	Schema   int            `json:"schema"`
	File     string         `json:"file"`
	Format   string         `json:"format"`   // of the runs: wrk2, httperf
	Runs     []AuditRun     `json:"runs"`     // in the order of their lines
	Findings []AuditFinding `json:"findings"` // impossible first, then suspicious, then undecidable
	NotRead  []AuditLines   `json:"not_read"` // lines that belong to no run
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

// A Judgement is a class of findings.
type Judgement string

// The classes, from the gravest.
const (
	Impossible Judgement = "impossible"  // a law forbids these figures
	Suspicious Judgement = "suspicious"  // possible, but likely to mislead a reader
	CannotTell Judgement = "undecidable" // the figures are too few to tell
)

// An AuditFinding is the verdict of one law on one run, or on several runs.
// Law names the law, Code its sentence, and Numbers and Names fill the sentence in. Line is the first line
// of the run, or of one of several runs.
type AuditFinding struct {
	Kind    Judgement `json:"kind"`
	Law     string    `json:"law"`
	Code    Code      `json:"code"`
	Message string    `json:"message"` // report adds it
	Numbers Values    `json:"numbers"`
	Names   Names     `json:"names,omitempty"`
	Run     int       `json:"run"` // index of the run, -1 for several
	Line    int       `json:"line"`
}

// Fact returns the finding as a Fact, which report puts into words.
func (f AuditFinding) Fact() Fact { return Fact{Code: f.Code, Values: f.Numbers, Names: f.Names} }

// AuditLines are lines that belong to no run.
type AuditLines struct {
	Line int    `json:"line"`
	End  int    `json:"end"`
	Text string `json:"text"` // the first line
}
