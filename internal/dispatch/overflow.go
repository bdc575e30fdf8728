package dispatch

import (
	"fmt"
	"slices"
	"strings"
)

// Overflow says what happens to a job that finds the queue full.
type Overflow uint8

// The overflow policies.
const (
	Block      Overflow = iota // the submitter waits for a place
	Reject                     // the job is refused at once, with an answer: [Full]
	Drop                       // the job is refused without an answer: [Dropped]
	DropOldest                 // the job that has waited longest makes place: [Evicted]
	CoDel                      // as Reject; and jobs that waited too long are [Stale]
)

var overflowNames = []string{"block", "reject", "drop", "drop-oldest", "codel"}

func (o Overflow) String() string { return overflowNames[o] }

// Set parses a policy's name, so that *Overflow is a flag value.
func (o *Overflow) Set(s string) error {
	i := slices.Index(overflowNames, s)
	if i < 0 {
		return fmt.Errorf("unknown overflow policy %q (want one of %s)", s, strings.Join(overflowNames, ", "))
	}
	*o = Overflow(i)
	return nil
}

// Type names the value in a command's help.
func (o *Overflow) Type() string { return strings.Join(overflowNames, "|") }
