package record

// An Audit is what `audit --output json` prints: the runs that a text reports, and what
// the laws say of their figures.
type Audit struct {
	Schema   int            `json:"schema"`
	File     string         `json:"file"`
	Format   string         `json:"format"`   // of the runs: wrk2, httperf
	Runs     []AuditRun     `json:"runs"`     // in the order of their lines
	Findings []AuditFinding `json:"findings"` // impossible first, then suspicious, then what cannot be told
	NotRead  []AuditLines   `json:"not_read"` // lines that belong to no run
}

// An AuditRun is one run as it was read.
type AuditRun struct {
	Tool string `json:"tool"` // that printed it, "figures" for key=value, "table", or "prose"
	Name string `json:"name,omitempty"`
	Line int    `json:"line"` // its first, from 1
	End  int    `json:"end"`  // its last
	Loop string `json:"loop"` // closed, paced (held to a rate, times count from the sending), open (they count from the schedule) or unknown
	// Figures by name: seconds, bytes, counts, requests per second, shares of 1.
	Figures map[string]float64 `json:"figures"`
}

// A Judgement is a class of findings.
type Judgement string

// The classes, from the gravest.
const (
	Impossible Judgement = "impossible"  // a law forbids these figures
	Suspicious Judgement = "suspicious"  // possible, and not what a reader would take it for
	CannotTell Judgement = "undecidable" // the figures cannot tell
)

// An AuditFinding is what one law says of one run, or of several.
type AuditFinding struct {
	Kind    Judgement `json:"kind"`
	Law     string    `json:"law"`
	Code    Code      `json:"code"`
	Message string    `json:"message"` // report adds it
	Numbers Values    `json:"numbers"`
	Names   Names     `json:"names,omitempty"`
	Run     int       `json:"run"` // index of the run, -1 when it is about several
	Line    int       `json:"line"`
}

// Fact is the finding as report words it.
func (f AuditFinding) Fact() Fact { return Fact{Code: f.Code, Values: f.Numbers, Names: f.Names} }

// AuditLines are lines that were not read.
type AuditLines struct {
	Line int    `json:"line"`
	End  int    `json:"end"`
	Text string `json:"text"` // the first of them
}
