package main

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"schedlab/internal/capabilities/session"
)

// One error's exit code hides neither the words around it nor an error beside it.
func TestEveryErrorIsTold(t *testing.T) {
	t.Parallel()
	var stderr strings.Builder
	err := errors.Join(fmt.Errorf("scenario %q: %w", "a.yaml", session.Usagef("--rate is missing")), errors.New("the disk is full"))
	if code := tell(&cobra.Command{}, err, &stderr); code != session.Mistake {
		t.Errorf("exit code %d, want %d", code, session.Mistake)
	}
	if want := "schedlab: scenario \"a.yaml\": --rate is missing\nschedlab: the disk is full\n"; stderr.String() != want {
		t.Errorf("got %q, want %q", stderr.String(), want)
	}
	stderr.Reset()
	if code := tell(&cobra.Command{}, session.Exit(session.NoAnswer), &stderr); code != session.NoAnswer || stderr.String() != "" {
		t.Errorf("of a report that says everything: exit code %d and %q", code, stderr.String())
	}
}
