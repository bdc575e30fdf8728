package record

// Others are who used the CPUs of a run besides its servers and its load, over the
// whole run: probes, warm-ups and blocks alike.
type Others struct {
	Seconds float64 `json:"seconds"` // from the first look at the machine's counters to the last
	// Steal is the share of the time of all the machine's CPUs that its hypervisor gave to
	// others, 0..1.
	Steal    float64   `json:"steal"`
	Troubles []Trouble `json:"troubles"` // the largest share first, eight programs at most; those below 0.1 % are left out
}

// A Trouble is one cause by which CPU time was lost to server or load.
type Trouble struct {
	Cause Cause `json:"cause"`
	CPU   int   `json:"cpu"` // -1: the CPUs in use together; of a program, where it was seen most
	// Side is whose CPU that is: server, load, or both where they share it.
	Side Side `json:"side"`
	// Share is that of the CPU's time, 0..1. Of a program it is that of one CPU, and of
	// Passing that of the CPUs in use together.
	Share   float64 `json:"share"`
	Program string  `json:"program,omitempty"` // of Program: its name
	PID     int     `json:"pid,omitempty"`
}

// Cause says what took CPU time.
type Cause string

// The causes.
const (
	Stolen    Cause = "steal"   // the hypervisor gave the CPU to another machine
	Interrupt Cause = "irq"     // devices interrupted it
	SoftIRQ   Cause = "softirq" // network traffic and kernel work that loopback traffic did not cause
	Program   Cause = "program" // a program that is not part of the run
	Passing   Cause = "passing" // programs that are not named: the smallest, those that came and went, those not seen from here
	Own       Cause = "own"     // this program's own threads, on the server's CPUs
)

// Side says whose CPUs are meant.
type Side string

// The sides.
const (
	ServerSideCPU Side = "server"
	LoadSideCPU   Side = "load"
	BothSides     Side = "both"
)
