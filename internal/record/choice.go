package record

// A Choice is what `choose --output json` prints: the model that is advised for requests of a
// kind, its size, what the advice rests on, and the comparison that tests it.
type Choice struct {
	Schema   int         `json:"schema"`
	Headline string      `json:"headline,omitempty"` // the answer in a sentence; report adds it
	Does     string      `json:"does"`               // what the requests do: short-cpu, blocking, mixed, heavy-tail, idle, bursts, pipelined, locks
	Matters  string      `json:"matters"`            // tail, throughput, memory or overload
	Mode     string      `json:"mode"`               // that is advised
	Workers  int         `json:"workers,omitempty"`  // absent where the mode has none
	Queue    int         `json:"queue,omitempty"`    // requests that may wait for them
	Known    Knowing     `json:"known"`
	Answer   Fact        `json:"answer"`
	Asked    Fact        `json:"asked"`          // what was said of the requests
	Why      Fact        `json:"why"`            // what the advice rests on
	Size     Fact        `json:"size"`           // where the size is from
	Unless   Fact        `json:"unless"`         // when it does not matter
	Cell     *ChoiceCell `json:"cell,omitempty"` // that it rests on; nil for a prediction
	Metrics  []string    `json:"metrics"`        // that the test compares
	Doubts   []Fact      `json:"doubts"`
	Test     string      `json:"test"` // the command that tests it
	// Verified is what --verify found, Unverified why it found nothing.
	Verified   *ChoiceTest `json:"verified,omitempty"`
	Unverified string      `json:"unverified,omitempty"`
}

// Knowing says what an advice rests on.
type Knowing string

// From the surest to the least sure.
const (
	KnownMeasured  Knowing = "measured"  // an experiment with such requests
	KnownNear      Knowing = "near"      // an experiment with requests that are nearest to such
	KnownPredicted Knowing = "predicted" // queueing theory
	KnownNothing   Knowing = "nothing"   // no measurement, and no theory
)

// A ChoiceCell is what an experiment says of one thing that matters to requests of a kind.
type ChoiceCell struct {
	Does     string      `json:"does"`
	Matters  string      `json:"matters"`
	Scenario string      `json:"scenario"` // that asks it
	Metrics  []string    `json:"metrics"`
	Arms     []ChoiceArm `json:"arms"`
	Commit   string      `json:"commit,omitempty"`  // that it was measured with
	Outcome  AnswerKind  `json:"outcome,omitempty"` // "": not measured yet; NoVerdict: every verdict was refused
	Best     []ChoiceArm `json:"best"`              // that wins, that share the first place, or that none is surely better than
	Verdicts []Verdict   `json:"verdicts"`          // each arm against each before it, at the metrics
	Lacks    []Fact      `json:"lacks,omitempty"`   // why its arms are not the right ones
}

// A ChoiceArm is a candidate: an arm of the scenario, and its mode.
type ChoiceArm struct {
	Name string `json:"name"`
	Mode string `json:"mode"`
}

// A ChoiceTest is what the comparison of the advised model with others found.
type ChoiceTest struct {
	Answer   Answer        `json:"answer"` // Passed: no other is surely better at what matters; Failed: one is, or the SLO is broken; NoAnswer: all verdicts were refused, or requests got no good reply
	Why      Fact          `json:"why"`
	Verdicts []Verdict     `json:"verdicts"`      // each other against the advised model
	SLO      []Expectation `json:"slo,omitempty"` // the terms of the SLO that its windows could tell, of the advised model
	Dir      string        `json:"dir"`           // of the run's record
}

// KindsOfRequests names the kinds of requests that a Choice knows, by [Choice.Does], and says what each means.
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

// choiceMetrics names the metrics of a choice for people.
var choiceMetrics = map[string]string{"cpu_per_request": "CPU/request", "good_mean": "mean of good replies"}

// ChoiceMetric is the name of a metric in a sentence.
func ChoiceMetric(name string) string {
	if long, ok := choiceMetrics[name]; ok {
		return long
	}
	return name
}

// Words says what the verdicts of a cell come to.
func (k AnswerKind) Words() string {
	switch k {
	case OneWins:
		return "one wins"
	case ATie:
		return "a tie"
	case TieForBest:
		return "a tie for the best"
	case SeveralWin:
		return "several win, and which of them is open"
	case ATrade:
		return "better at one and worse at another"
	}
	return "not decided"
}
