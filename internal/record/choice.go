package record

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
	Cell     *ChoiceCell `json:"cell,omitempty"`  // the measurement behind the recommendation; nil for a prediction
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

// The kinds of evidence, from the surest to the least sure.
const (
	KnownMeasured  Knowing = "measured"  // an experiment with such requests
	KnownNear      Knowing = "near"      // an experiment with the most similar requests
	KnownPredicted Knowing = "predicted" // queueing theory
	KnownNothing   Knowing = "nothing"   // no measurement, and no theory
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
	Answer   Answer        `json:"answer"` // Passed: no other is surely better at the goal; Failed: one is, or the SLO is broken; NoAnswer: all verdicts were refused, or requests got no good reply
	Why      Fact          `json:"why"`
	Verdicts []Verdict     `json:"verdicts"`      // each other model against the recommended one
	SLO      []Expectation `json:"slo,omitempty"` // the SLO's terms for the recommended model, where its windows can tell
	Dir      string        `json:"dir"`           // of the run's record
}

// KindsOfRequests describes the kinds of requests, by the value of Choice.Does. It must not be
// modified.
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

// Words returns k in words, for a cell of a choice.
// A kind without words of its own counts as not decided.
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
