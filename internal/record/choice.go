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
