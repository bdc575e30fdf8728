package report

import (
	"encoding/json"
	"schedlab/internal/record"

	// Their facts have sentences in the reports of these tests.
	_ "schedlab/internal/doctor"
	_ "schedlab/internal/experiment"
	_ "schedlab/internal/explain"
)

// said is a fact of an unknown code: its text is the one it came with.
func said(text string) record.Fact {
	if text == "" {
		return record.Fact{}
	}
	return record.Fact{Code: "test", Text: text}
}

// asRecorded is a fact as a record has it.
func asRecorded(text string) (f record.Fact) {
	if err := json.Unmarshal([]byte(text), &f); err != nil {
		panic(err)
	}
	return f
}
