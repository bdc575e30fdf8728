package scenario

import (
	"errors"
	"fmt"
	"slices"

	"schedlab/internal/expect"
)

// Assert adds an assertion to a parsed scenario; see docs/scenarios.md. The assertion may name any arm
// that the scenario has at that time.
func (s *Scenario) Assert(text string) error {
	var arms []string
	for _, a := range s.Contestants() {
		arms = append(arms, a.Name)
	}
	if _, err := expect.Parse(text, arms); err != nil {
		return fmt.Errorf("%s: %w", text, err)
	}
	s.Expect = append(slices.Clip(s.Expect), text)
	return nil
}

// parseExpectations checks all assertions of a scenario.
func (s *Scenario) parseExpectations() *FieldError {
	var arms []string
	for _, a := range s.Contestants() {
		arms = append(arms, a.Name)
	}
	for i, text := range s.Expect {
		if _, err := expect.Parse(text, arms); err != nil {
			bad := &FieldError{Path: fmt.Sprintf("expect[%d]", i), Msg: err.Error(), within: text}
			if at, ok := errors.AsType[*expect.Error](err); ok {
				bad.at = at.At
			}
			return bad
		}
	}
	return nil
}
