package record

import (
	"cmp"

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

// A Choice is the output of `choose --output json`: the recommended model for requests of a kind,
// its size, the evidence for it, and the comparison that tests it.
type Choice struct {
	Schema   int         `json:"schema"`
	Headline string      `json:"headline,omitempty"` // the answer in a sentence; report adds it
	Does     string      `json:"does"`               // what the requests do: short-cpu, blocking, mixed, heavy-tail, idle, bursts, pipelined, locks
	Matters  string      `json:"matters"`            // tail, throughput, memory or overload
	Mode     string      `json:"mode"`               // the recommended mode
	Workers  int         `json:"workers,omitempty"`  // absent if the mode has none
	Queue    int         `json:"queue,omitempty"`    // requests that may wait for the workers
	Known    Knowing     `json:"known"`
	Answer   Fact        `json:"answer"`
	Asked    Fact        `json:"asked"`           // what the user said about the requests
	Why      Fact        `json:"why"`             // the evidence for the recommendation
	Size     Fact        `json:"size"`            // the reason for the size
	Unless   Fact        `json:"unless"`          // when the choice does not matter
	Parser   Fact        `json:"parser,omitzero"` // that the mode takes no handlers of net/http, and how net/http did; none for a mode on net/http
	Cell     *ChoiceCell `json:"cell,omitempty"`  // the measurement behind the recommendation
	Metrics  []string    `json:"metrics"`         // compared by the test
	Doubts   []Fact      `json:"doubts"`
	Test     string      `json:"test"`             // the command that tests it
	Recipe   string      `json:"recipe,omitempty"` // the command that prints the mode as a Go file, if there is one
	// Verified is the result of --verify, Unverified the reason why it has none.
	Verified   *ChoiceTest `json:"verified,omitempty"`
	Unverified string      `json:"unverified,omitempty"`
}

// Knowing is the kind of evidence behind a recommendation.
type Knowing string

// The kinds of evidence.
const (
	KnownMeasured Knowing = "measured" // an experiment with such requests
	KnownNear     Knowing = "near"     // an experiment with requests that are alike in what matters
)

// A ChoiceCell is the result of an experiment for one kind of requests and one goal.
type ChoiceCell struct {
	Does     string      `json:"does"`
	Matters  string      `json:"matters"`
	Scenario string      `json:"scenario"` // the scenario that measures it
	Metrics  []string    `json:"metrics"`
	Arms     []ChoiceArm `json:"arms"`
	Commit   string      `json:"commit,omitempty"`  // commit of schedlab that measured it
	Outcome  AnswerKind  `json:"outcome,omitempty"` // "": not measured yet; NoVerdict: every verdict was refused
	Best     []ChoiceArm `json:"best"`              // the winner, the arms that share the first place, or the arms that no arm surely beats
	Verdicts []Verdict   `json:"verdicts"`          // each arm against each before it, at the metrics
	Lacks    []Fact      `json:"lacks,omitempty"`   // why its arms are not the right ones
}

// A ChoiceArm is a candidate: an arm of the scenario, and its mode.
type ChoiceArm struct {
	Name string `json:"name"`
	Mode string `json:"mode"`
}

// A ChoiceTest is the result of comparing the recommended model with others.
type ChoiceTest struct {
	Answer   outcome.Outcome `json:"answer"` // Yes: no other is surely better at the goal; No: one is, or the SLO is broken; Refused: all verdicts were refused, or requests got no good reply
	Why      Fact            `json:"why"`
	Verdicts []Verdict       `json:"verdicts"`        // each other model against the recommended one
	SLO      []Expectation   `json:"slo,omitempty"`   // the SLO's terms for the recommended model, where its windows can tell
	Keeps    []Fact          `json:"keeps,omitempty"` // for each model, the recommended one first, whether it met these terms
	Dir      string          `json:"dir"`             // of the run's record
}

// KindsOfRequests describes the kinds of requests, by the value of Choice.Does. It must not be modified.
var KindsOfRequests = map[string]struct{ Name, About string }{
	"short-cpu":  {"short CPU work", "A request computes, and waits for nothing else."},
	"blocking":   {"requests that wait", "A request holds its goroutine while a database or another service answers, and computes a tenth of that time at most."},
	"mixed":      {"requests that compute and wait, or are of two lengths", "Both parts count, or long requests stand among short ones."},
	"heavy-tail": {"a heavy tail", "One request in a hundred takes as long as all the others."},
	"idle":       {"many idle connections", "A thousand kept connections or more, few of which ask something at a time."},
	"bursts":     {"bursts", "Many requests come in one moment."},
	"pipelined":  {"tiny and pipelined requests", "A request asks next to nothing, or several come in one write."},
	"locks":      {"locks", "Much of the work is done under one lock."},
}

// Words returns k in words, for a cell of a choice. A kind without words of its own counts as not decided.
func (k AnswerKind) Words() string { return cmp.Or(answerWords[k], "not decided") }

var answerWords = map[AnswerKind]string{
	OneWins:    "one wins",
	ATie:       "a tie",
	TieForBest: "a tie for the best",
	SeveralWin: "several win, and which of them is open",
	ATrade:     "better at one and worse at another",
}
