package record

// Others tells who used the CPUs of a run apart from its servers and its load. It covers the
// whole run: probes, warm-ups and blocks.
type Others struct {
	Seconds float64 `json:"seconds"` // from the first reading of the machine's counters to the last
	// Steal is the share of the time of all the machine's CPUs that its hypervisor gave to other
	// machines, 0..1.
	Steal    float64   `json:"steal"`
	Troubles []Trouble `json:"troubles"` // the largest share first, at most eight programs; shares below 0.1 % are left out
}

// A Trouble is one cause that took CPU time from server or load.
type Trouble struct {
	Cause Cause `json:"cause"`
	CPU   int   `json:"cpu"` // -1: all CPUs in use; for a program, the CPU where it was seen most
	// Side tells who runs on that CPU: server, load, or both if they share it.
	Side Side `json:"side"`
	// Share is a ratio 0..1 of the CPU's time. For a program it is a ratio of one CPU, for
	// Passing of all CPUs in use.
	Share   float64 `json:"share"`
	Program string  `json:"program,omitempty"` // the program's name, if Cause is Program
	PID     int     `json:"pid,omitempty"`
}

// Cause tells what took the CPU time.
type Cause string

// The causes.
const (
	Stolen    Cause = "steal"   // the hypervisor gave the CPU to another machine
	Interrupt Cause = "irq"     // devices interrupted it
	SoftIRQ   Cause = "softirq" // network traffic and kernel work that loopback traffic did not cause
	Program   Cause = "program" // a program that is not part of the run
	Passing   Cause = "passing" // unnamed programs: the smallest, short-lived ones, and ones not visible from here
	Own       Cause = "own"     // schedlab's own threads, on the server's CPUs
)

// Side tells who runs on a CPU.
type Side string

// The sides.
const (
	ServerSideCPU Side = "server"
	LoadSideCPU   Side = "load"
	BothSides     Side = "both"
)
