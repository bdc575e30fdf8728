package main

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"schedlab/internal/capabilities/session"
	"schedlab/internal/shared/record"
)

// Where a request ends without a result and without a mistake, standard output says so, too, in the outputs that people read.
func TestNothingDecidedIsAnAnswer(t *testing.T) {
	t.Parallel()
	why := errors.New("the budget has no room")
	for _, c := range []struct {
		answer session.Answer
		err    error
		output string
		want   string
	}{
		{session.Answer{}, &session.Error{Code: session.NoAnswer, Err: why}, "text", "Nothing was decided: the budget has no room.\n"},
		{session.Answer{}, &session.Error{Code: session.NoAnswer, Err: why}, "summary", "Nothing was decided: the budget has no room.\n"},
		{session.Answer{}, &session.Error{Code: session.NoAnswer, Err: why}, "json", ""},
		{session.Answer{}, &session.Error{Code: session.Mistake, Err: why}, "text", ""},
		{session.Answer{Result: &record.Comparison{}}, &session.Error{Code: session.NoAnswer, Err: why}, "text", ""},
		{session.Answer{}, session.Exit(session.NoAnswer), "text", ""},
		{session.Answer{}, nil, "text", ""},
	} {
		var b bytes.Buffer
		if reason := unanswered(c.answer, c.err); reason != nil {
			if err := writeUnanswered(&b, c.output, reason); err != nil {
				t.Fatal(err)
			}
		}
		if b.String() != c.want {
			t.Errorf("%v as %s: got %q, want %q", c.err, c.output, b.String(), c.want)
		}
	}
}

// The command that a record has holds what a file set, also if that is a list.
func TestTheCommandHasTheListsOfAFile(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "compare.yaml")
	if err := os.WriteFile(file, []byte("arms: [nethttp, fasthttp]\nexpect: ['p50(\"nethttp\") < 1s', 'p99(\"nethttp\") < 1s']\nrate: 500/s\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	m := newCompare()
	if err := readConfig(m.cmd, file); err != nil {
		t.Fatal(err)
	}
	want := `compare --arms nethttp,fasthttp --expect 'p50("nethttp") < 1s' --expect 'p99("nethttp") < 1s' --rate 500/s quick`
	if got := again(m.cmd, []string{"quick"}); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}
