package document

import (
	"strings"
	"testing"
)

// A sentence that has too many words is cut at the end of a clause, and what follows is the lead: no word is lost, and none twice.
func TestSplit(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ answer, short, rest string }{
		{"All is well.", "All is well.", ""},
		{"No arm is sure to have the most capacity for p99<=10ms: a 100 to 200/s, b above 90/s.", "No arm is sure to have the most capacity for p99<=10ms.", "a 100 to 200/s, b above 90/s"},
		{"a keeps up; b (1, 2, 3, 4) does not; c has a very long explanation of what it does.", "a keeps up; b (1, 2, 3, 4) does not.", "c has a very long explanation of what it does"},
		{"one two three (four five six seven eight nine ten eleven twelve thirteen).", "one two three.", "four five six seven eight nine ten eleven twelve thirteen"},
		{"No: errors: a failed 5 of 10 requests (50 %) and b failed 5 of 10 requests (50 %).", "No: errors.", "a failed 5 of 10 requests (50 %) and b failed 5 of 10 requests (50 %)"},
		{"one two three four five six seven eight nine ten eleven twelve thirteen.", "one two three four five six seven eight nine ten eleven twelve …", "one two three four five six seven eight nine ten eleven twelve thirteen"},
	} {
		short, rest := Split(c.answer, Anywhere)
		if short != c.short || strings.Join(rest, "|") != c.rest {
			t.Errorf("%q:\ngot  %q, %q\nwant %q, %q", c.answer, short, rest, c.short, c.rest)
		}
	}
}
