package experiment

import "fmt"

// An Impossible error tells why a plan cannot be carried out as asked, and what to change.
type Impossible struct {
	msg string
	// Machine means that this machine is too small for the scenario: another machine could run it
	// unchanged.
	Machine bool
}

func (e *Impossible) Error() string { return e.msg }

// impossible returns an *[Impossible] with a formatted message. It wraps nothing.
func impossible(format string, args ...any) error {
	return &Impossible{msg: fmt.Sprintf(format, args...)}
}
