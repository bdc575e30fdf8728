package report

import (
	"encoding/json"
	"schedlab/internal/shared/fact"

	// Their facts have sentences in the reports of these tests.
	_ "schedlab/internal/capabilities/doctor"
	_ "schedlab/internal/capabilities/explain"
	_ "schedlab/internal/measuring/runner"
)

// said is a fact of an unknown code: its text is the one it came with.
func said(text string) fact.Fact {
	if text == "" {
		return fact.Fact{}
	}
	return fact.Fact{Code: "test", Text: text}
}

// asRecorded is a fact as a record has it.
func asRecorded(text string) (f fact.Fact) {
	if err := json.Unmarshal([]byte(text), &f); err != nil {
		panic(err)
	}
	return f
}
