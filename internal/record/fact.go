package record

// A Fact is something to be said of a run, as data: a doubt, a reason, a part of an
// answer. Package report words it; nothing else composes, compares or searches its words.
type Fact struct {
	Code     Code   `json:"code"`
	Arm      string `json:"arm,omitempty"` // that it is about, "" for the run
	Baseline string `json:"baseline,omitempty"`
	Metric   string `json:"metric,omitempty"`
	// Values are its figures by name: seconds, shares of 1, counts, rates per second.
	Values map[string]float64 `json:"values,omitempty"`
	// Names are what it names: CPUs, settings, files, what a system call said.
	Names map[string]string `json:"names,omitempty"`
	// Because are the facts that it rests on.
	Because []Fact `json:"because,omitempty"`
	// Text is the fact in words. Records have none: report adds it to the JSON it prints.
	Text string `json:"text,omitempty"`
}

// Values are the figures of a fact that is being made.
type Values = map[string]float64

// Names are what it names.
type Names = map[string]string

// None reports whether it says nothing.
func (f Fact) None() bool { return f.Code == "" }

// Error makes a fact an error: its code.
func (f Fact) Error() string { return string(f.Code) }

// A Code says what a fact is. Each has one template in package report.
type Code string

// What a run's record lacks.
const (
	MissingTrials   Code = "missing-trials"
	UnreadableTrial Code = "unreadable-trial"
	TrialLeftOut    Code = "trial-left-out"
	TrialFailed     Code = "trial-failed"
	TrialOfNoArm    Code = "trial-of-no-arm"
	TrialOfNoSearch Code = "trial-of-no-search"
	OtherWindow     Code = "other-window"
	SecondTrial     Code = "second-trial"
	TrialsCut       Code = "trials-cut"
	RunNotComplete  Code = "run-not-complete"
	BlocksLeftOut   Code = "blocks-left-out"
	WindowsRefused  Code = "windows-refused"
)

// Doubts about a server, the load or the machine.
const (
	StarvedConnections Code = "starved-connections"
	GeneratorLimit     Code = "generator-limit"
	Overloaded         Code = "overloaded"
	UnsentRequests     Code = "unsent-requests"
	StampsLost         Code = "stamps-lost"
	OneCPU             Code = "one-cpu"
	LoadTookCPU        Code = "load-took-cpu"
	Virtualised        Code = "virtualised"
	OneHost            Code = "one-host"
	OthersUsedCPUs     Code = "others-used-cpus"
	StolenTime         Code = "stolen-time"
	InterruptTime      Code = "interrupt-time"
	SoftIRQTime        Code = "softirq-time"
	ProgramTime        Code = "program-time"
	OwnTime            Code = "own-time"
	PassingTime        Code = "passing-time"
	StillGoingOn       Code = "still-going-on"
	CPUTimeUnknown     Code = "cpu-time-unknown"
	NoListenerFound    Code = "no-listener-found"
	OtherCPUs          Code = "other-cpus"
	MetricsUnreadable  Code = "metrics-unreadable"
	Lingered           Code = "lingered"
)

// Doubts of a plan.
const (
	MachineUnfit        Code = "machine-unfit"
	SharedCPUs          Code = "shared-cpus"
	StickyPool          Code = "sticky-pool"
	TooFewWorkers       Code = "too-few-workers"
	IdleWorkers         Code = "idle-workers"
	QueueNeverFull      Code = "queue-never-full"
	QueueUnused         Code = "queue-unused"
	OneCPUShared        Code = "one-cpu-shared"
	OnePShared          Code = "one-p-shared"
	ClientsDiffer       Code = "clients-differ"
	ClosedLoop          Code = "closed-loop"
	OtherProgram        Code = "other-program"
	RunsAlready         Code = "runs-already"
	PipelineTooDeep     Code = "pipeline-too-deep"
	FaultPlanted        Code = "fault-planted"
	ExpectationsLeftOut Code = "expectations-left-out"
	LogLinesLeftOut     Code = "log-lines-left-out"
	WholeSeconds        Code = "whole-seconds"
	UnevenProbe         Code = "uneven-probe"
	BudgetTooShort      Code = "budget-too-short"
	BudgetEnded         Code = "budget-ended"
	RateLowered         Code = "rate-lowered"
	RateSendable        Code = "rate-sendable"
	RateShared          Code = "rate-shared"
	CannotBeDecided     Code = "cannot-be-decided"
)

// Doubts about an attack.
const (
	AttackStarved    Code = "attack-starved"
	AttackLost       Code = "attack-lost"
	AttackFailed     Code = "attack-failed"
	AttackLate       Code = "attack-late"
	AttackExhausted  Code = "attack-exhausted"
	AttackShort      Code = "attack-short"
	AttackCrowded    Code = "attack-crowded"
	AttackRateMissed Code = "attack-rate-missed"
	AttackStoodStill Code = "attack-stood-still"
	AttackKeptAway   Code = "attack-kept-away"
	AttackAtLimit    Code = "attack-at-limit"
	AttackIdleLost   Code = "attack-idle-lost"
	AttackCutOff     Code = "attack-cut-off"
	AttackClosedLoop Code = "attack-closed-loop"
)

// Why an arm is slower than another, and why nothing is said of that.
const (
	CauseWorkers    Code = "cause-workers"
	CauseInline     Code = "cause-inline"
	CauseThreads    Code = "cause-threads"
	CauseQueueLock  Code = "cause-queue-lock"
	CauseHandOff    Code = "cause-hand-off"
	CauseOwnQueues  Code = "cause-own-queues"
	CauseLock       Code = "cause-lock"
	CauseGC         Code = "cause-gc"
	CauseBacklog    Code = "cause-backlog"
	CauseUneven     Code = "cause-uneven"
	CauseAcceptor   Code = "cause-acceptor"
	CauseBatches    Code = "cause-batches"
	CauseTurnedAway Code = "cause-turned-away"
	CauseLoad       Code = "cause-load"
	CauseCost       Code = "cause-cost"

	HardlyDiffer  Code = "hardly-differ"
	NoRuleApplies Code = "no-rule-applies"
)

// What is found of a machine, and whether that is fit to measure on.
const (
	MachineVerdict   Code = "machine-verdict"
	NotTold          Code = "not-told"
	CPUsApart        Code = "cpus-apart"
	CPUsOne          Code = "cpus-one"
	CPUsUnpinned     Code = "cpus-unpinned"
	CPUsShared       Code = "cpus-shared"
	CPUsPartlyShared Code = "cpus-partly-shared"
	CoresApart       Code = "cores-apart"
	CoreShared       Code = "core-shared"
	CPULimit         Code = "cpu-limit"
	ClockRate        Code = "clock-rate"
	Governor         Code = "governor"
	OthersNow        Code = "others-now"
	ProgramNow       Code = "program-now"
	UnseenNow        Code = "unseen-now"
	LoadAverage      Code = "load-average"
	StealNow         Code = "steal-now"
	Pressure         Code = "pressure"
	MemoryFree       Code = "memory-free"
	SwapUsed         Code = "swap-used"
	Descriptors      Code = "descriptors"
	LocalPorts       Code = "local-ports"
	ListenBacklog    Code = "listen-backlog"
	OutputRoom       Code = "output-room"
	OutputUntold     Code = "output-untold"
	OutputFull       Code = "output-full"
	OutputBlocked    Code = "output-blocked"
	GoSettings       Code = "go-settings"
	ClockSource      Code = "clock-source"
	ClockSlow        Code = "clock-slow"
	ClockSteady      Code = "clock-steady"
	ClockStepped     Code = "clock-stepped"
	TimerLate        Code = "timer-late"
	ThreadPaused     Code = "thread-paused"
	ReplyGap         Code = "reply-gap"
	EngineAdds       Code = "engine-adds"
	NoiseKnown       Code = "noise-known"
	NoiseTooHigh     Code = "noise-too-high"
	NoiseFewBlocks   Code = "noise-few-blocks"
	NoiseNotRun      Code = "noise-not-run"
	NoiseList        Code = "noise-list"
	NoiseOf          Code = "noise-of"
	NoiseOpen        Code = "noise-open"
	NoiseWidth       Code = "noise-width"
	NoiseBlocksLeft  Code = "noise-blocks-left"
	BlockRefused     Code = "block-refused"
)

// The advice on the size of a pool: what it is, why there is none (package queueing has the
// same words), what it cannot tell, and what a test of it came to.
const (
	SizeAdvice     Code = "size-advice"
	SizeWaits      Code = "size-waits"
	SizeNoCores    Code = "size-no-cores"
	SizeHopeless   Code = "size-hopeless"
	SizeAlone      Code = "size-alone"
	SizeCores      Code = "size-cores"
	SizeCoresWait  Code = "size-cores-wait"
	SizeByAHair    Code = "size-by-a-hair"
	SizeLoss       Code = "size-loss"
	SizeTheory     Code = "size-theory"
	SizeRareErrors Code = "size-rare-errors"
	SizeRareTail   Code = "size-rare-tail"
	SizeFewTimes   Code = "size-few-times"
	SizeBuckets    Code = "size-buckets"
	SizeBeyond     Code = "size-beyond"
	SizeCoarse     Code = "size-coarse"
	SizeMix        Code = "size-mix"
	SizeOff        Code = "size-off"
	SizeTooFew     Code = "size-too-few"
	SizeFewerDo    Code = "size-fewer-do"
	SizeOpen       Code = "size-open"
)

// Which model to choose.
const (
	ChooseAdvice      Code = "choose-advice"
	ChooseAsked       Code = "choose-asked"
	ChooseMeasured    Code = "choose-measured"
	ChooseVerdict     Code = "choose-verdict"
	ChooseNear        Code = "choose-near"
	ChoosePredicted   Code = "choose-predicted"
	ChooseExpected    Code = "choose-expected"
	ChooseFewRequests Code = "choose-few-requests"
	ChooseNothing     Code = "choose-nothing"
	ChooseNoSize      Code = "choose-no-size"
	ChooseLoops       Code = "choose-loops"
	ChooseSized       Code = "choose-sized"
	ChooseKnee        Code = "choose-knee"
	ChooseHopeless    Code = "choose-hopeless"
	ChooseFull        Code = "choose-full"
	ChooseKept        Code = "choose-kept"
	ChooseWaits       Code = "choose-waits"
	ChooseCrowded     Code = "choose-crowded"
	ChooseHeld        Code = "choose-held"
	ChooseWrong       Code = "choose-wrong"
	ChooseOpen        Code = "choose-open"
	ChooseShed        Code = "choose-shed"
	ChooseBroken      Code = "choose-broken"
	ChooseOneMode     Code = "choose-one-mode"
	ChooseBelow       Code = "choose-below"

	// When it does not matter, by what requests do.
	UnlessShortCPU  Code = "choose-unless-short-cpu"
	UnlessBlocking  Code = "choose-unless-blocking"
	UnlessMixed     Code = "choose-unless-mixed"
	UnlessHeavyTail Code = "choose-unless-heavy-tail"
	UnlessIdle      Code = "choose-unless-idle"
	UnlessBursts    Code = "choose-unless-bursts"
	UnlessPipelined Code = "choose-unless-pipelined"
	UnlessLocks     Code = "choose-unless-locks"
)

// Reasons against a verdict.
const (
	CauseNoBlocks    Code = "no-blocks"    // no block has right data
	CauseUnfit       Code = "unfit"        // a value is 0, not finite or not there
	CauseFewRequests Code = "few-requests" // too few in a window for the quantile
	CauseUnknownCPU  Code = "unknown-cpu"  // the server's CPU time is not known
	CauseErrors      Code = "errors"       // requests without a good reply
	TooManyFailed    Code = "too-many-failed"
	CauseStatusMix   Code = "status-mix"  // the arms answer with different statuses
	CauseOverload    Code = "overload"    // the backlog of one grows in most windows
	CauseStarvation  Code = "starvation"  // clients of a closed loop were never answered
	CauseUnsent      Code = "unsent"      // paced clients did not send what they were to
	CauseAA          Code = "aa"          // the baseline differs from its own copy
	CauseDrift       Code = "drift"       // the ratios move over the run, from one side to the other
	CauseImbalance   Code = "imbalance"   // a disturbance differs between the arms by enough to make the verdict
	CauseSensitivity Code = "sensitivity" // the calmer half of the blocks, or times from the sending, say the opposite
	LoadsDiffer      Code = "loads-differ"
	NothingCompared  Code = "nothing-compared"
	NoVerdictOn      Code = "no-verdict-on"
)

// What the blocks say of an expectation or an objective, and why they cannot.
const (
	Tally          Code = "tally" // in how many blocks it is true
	Unreadable     Code = "unreadable"
	OneProbe       Code = "one-probe"
	TooFewBlocks   Code = "too-few-blocks"
	BorderOpen     Code = "border-open"
	Both           Code = "both"
	VerdictOpen    Code = "verdict-open"
	VerdictRefused Code = "verdict-refused"
	VerdictAbsent  Code = "verdict-absent"
	NoInterval     Code = "no-interval"
	NeitherSide    Code = "neither-side"
	IntervalOpen   Code = "interval-open"
	NothingExplain Code = "nothing-to-explain"
	NoChallenger   Code = "no-challenger"
	NoSuchArm      Code = "no-such-arm"
	NoTwin         Code = "no-twin"
	FigureRefused  Code = "figure-refused"
	NotMeasured    Code = "not-measured"
	NoXMax         Code = "no-x-max"
	BadReplies     Code = "bad-replies"
	NoTimeline     Code = "no-timeline"
	NoStamps       Code = "no-stamps"
	NoSuchPhase    Code = "no-such-phase"
	NoPrediction   Code = "no-prediction"
	WindowTooShort Code = "window-too-short"
	KeptInSome     Code = "kept-in-some"
)

// Why an arm has no ideal twin, or a theory no figure.
const (
	TwinOfProgram   Code = "twin-of-program"
	TwinNotRecorded Code = "twin-not-recorded"
	TwinUnknown     Code = "twin-unknown"
	TwinOfClients   Code = "twin-of-clients"
	TwinOfDrops     Code = "twin-of-drops"
	TwinSticky      Code = "twin-sticky"
	TwinOfChance    Code = "twin-of-chance"
	TwinOfAging     Code = "twin-of-aging"
	TwinOfNoArm     Code = "twin-of-no-arm"
	TwinTooLong     Code = "twin-too-long"
	TwinCostUnknown Code = "twin-cost-unknown"
	TwinCPUUnknown  Code = "twin-cpuunknown"
	TwinNoReply     Code = "twin-no-reply"
	TwinAsksAgain   Code = "twin-asks-again"
	TwinServedNone  Code = "twin-served-none"
	TwinOverload    Code = "twin-overload"
	TwinNoGoodReply Code = "twin-no-good-reply"
	ModelNoBlock    Code = "model-no-block"
	ModelNoTwin     Code = "model-no-twin"
	ModelOfClosed   Code = "model-of-closed"
	ModelOfOpen     Code = "model-of-open"
	ModelOfProgram  Code = "model-of-program"
	ModelBeyond     Code = "model-beyond"
	TheoryNoTime    Code = "theory-no-time"
	TheoryOfProgram Code = "theory-of-program"
	TheoryNoStation Code = "theory-no-station"
	TheoryNoCPU     Code = "theory-no-cpu"
	TheoryOfClosed  Code = "theory-of-closed"
	TheoryNoFigure  Code = "theory-no-figure"
	TheoryAbove     Code = "theory-above"
	TheoryWithin    Code = "theory-within"
)

// What a search for capacity comes to, and why no further.
const (
	RuleBroken       Code = "rule-broken"
	RateOff          Code = "rate-off"
	SentLate         Code = "sent-late"
	TooFewForTerm    Code = "too-few-for-term"
	SearchGenerator  Code = "search-generator"
	SearchOthers     Code = "search-others"
	SearchStopped    Code = "search-stopped"
	RecoveryOpen     Code = "recovery-open"
	SearchRefusals   Code = "search-refusals"
	SearchScatter    Code = "search-scatter"
	LosingRequests   Code = "losing-requests"
	NoRecovery       Code = "no-recovery"
	DiedOverloaded   Code = "died-overloaded"
	CapacityBetween  Code = "capacity-between"
	CapacityBeyond   Code = "capacity-beyond"
	CapacityBelow    Code = "capacity-below"
	CapacityNever    Code = "capacity-never"
	CapacitySlow     Code = "capacity-slow"
	CapacityDied     Code = "capacity-died"
	CapacityEnded    Code = "capacity-ended"
	CapacityWants    Code = "capacity-wants"
	CapacityRefused  Code = "capacity-refused"
	CapacityVerified Code = "capacity-verified"
	CapacityRefuted  Code = "capacity-refuted"
	CapacityCut      Code = "capacity-cut"
	CapacityOpen     Code = "capacity-open"
	NothingBroke     Code = "nothing-broke"
	SearchBudget     Code = "search-budget"
	AtCeiling        Code = "at-ceiling"
	RateRefused      Code = "rate-refused"
	NothingOffered   Code = "nothing-offered"
	SearchEnded      Code = "search-ended"
	NoneKeeps        Code = "none-keeps"
	AtFloor          Code = "at-floor"
	MoreCapacity     Code = "more-capacity"
	LessCapacity     Code = "less-capacity"
	NotToldApart     Code = "not-told-apart"
)

// What an audit finds; internal/audit has the law and the class of each.
const (
	AuditNotAdded          Code = "audit-not-added"
	AuditRateTime          Code = "audit-rate-time"
	AuditBytesTime         Code = "audit-bytes-time"
	AuditOfferedMissed     Code = "audit-offered-missed"
	AuditDoneAccepted      Code = "audit-done-accepted"
	AuditUnsteady          Code = "audit-unsteady"
	AuditBacklogGrows      Code = "audit-backlog-grows"
	AuditLittle            Code = "audit-little"
	AuditLittlePlan        Code = "audit-little-plan"
	AuditBackFilled        Code = "audit-back-filled"
	AuditDepthUntold       Code = "audit-depth-untold"
	AuditConnectionsUntold Code = "audit-connections-untold"
	AuditTwoReports        Code = "audit-two-reports"
	AuditUtilisation       Code = "audit-utilisation"
	AuditCoresUntold       Code = "audit-cores-untold"
	AuditSpinning          Code = "audit-spinning"
	AuditInverse           Code = "audit-inverse"
	AuditTurnaround        Code = "audit-turnaround"
	AuditGrowth            Code = "audit-growth"
	AuditOrder             Code = "audit-order"
	AuditMeanBounds        Code = "audit-mean-bounds"
	AuditInterpolated      Code = "audit-interpolated"
	AuditSpread            Code = "audit-spread"
	AuditTooLong           Code = "audit-too-long"
	AuditSum               Code = "audit-sum"
	AuditChange            Code = "audit-change"
	AuditSaidTwice         Code = "audit-said-twice"
	AuditFailed            Code = "audit-failed"
	AuditStatuses          Code = "audit-statuses"
	AuditDead              Code = "audit-dead"
	AuditFewerConns        Code = "audit-fewer-connections"
	AuditBursts            Code = "audit-bursts"
	AuditCalibration       Code = "audit-calibration"
	AuditUneven            Code = "audit-uneven"
	AuditIdentical         Code = "audit-identical"
	AuditOneTrial          Code = "audit-one-trial"
	AuditWithinNoise       Code = "audit-within-noise"
	AuditSameRate          Code = "audit-same-rate"
	AuditOneInFlight       Code = "audit-one-in-flight"
	AuditApproximate       Code = "audit-approximate"
)
