package main

import (
	"bytes"
	"strings"
	"testing"

	"schedlab/internal/capabilities/session"
)

// Mistakes in --wait-idle are told before anything is looked at.
func TestWaitIdleMistakes(t *testing.T) {
	t.Parallel()
	for _, c := range [][2]string{
		{"1s", "--wait-idle 1s is too short for 3s without others; give that or more"},
		{"0s", "--wait-idle 0s must be above 0; leave it out for the default"},
		{"-5s", "--wait-idle -5s must be above 0; leave it out for the default"},
	} {
		for _, command := range []string{"compare", "capacity", "explain"} {
			var out, said bytes.Buffer
			if code := run(t.Context(), []string{command, "--wait-idle=" + c[0]}, &out, &said); code != session.Mistake || !strings.Contains(said.String(), c[1]) {
				t.Errorf("%s --wait-idle %s: got exit code %d and %q", command, c[0], code, said.String())
			}
		}
	}
}
