package dispatch

import "fmt"

// Overflow says what happens to a job that finds the queue full.
type Overflow uint8

// The overflow policies.
const (
	Block  Overflow = iota // the submitter waits for a place
	Reject                 // the job is refused at once, with an answer
)

var overflowNames = [...]string{"block", "reject"}

func (o Overflow) String() string { return overflowNames[o] }

// Set parses a policy's name, so that *Overflow is a flag value.
func (o *Overflow) Set(s string) error {
	for i, name := range overflowNames {
		if s == name {
			*o = Overflow(i)
			return nil
		}
	}
	return fmt.Errorf("unknown overflow policy %q (want block or reject)", s)
}

// Type names the value in a command's help.
func (o *Overflow) Type() string { return "block|reject" }
