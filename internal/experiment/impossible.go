package experiment

import "fmt"

// An Impossible error says why a plan cannot be carried out as asked.
type Impossible struct {
	msg string
	// Machine says that this machine lacks what the scenario needs: another one
	// could run it as it is.
	Machine bool
}

func (e *Impossible) Error() string { return e.msg }

func impossible(format string, args ...any) error {
	return &Impossible{msg: fmt.Sprintf(format, args...)}
}
