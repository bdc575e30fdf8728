package load

// A Rest is what the spinner does while nothing is due and nothing comes.
type Rest string

// The kinds of Rest.
const (
	RestSpins Rest = "spins"             // it asks for events without end, on a CPU of its own
	RestWaits Rest = "waits"             // it sleeps in the kernel: it shares its CPU with the server
	RestFirst Rest = "waits, goes first" // likewise, and as a SCHED_RR thread has the CPU as soon as it wakes
)
