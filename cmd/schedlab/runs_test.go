package main

import (
	"testing"
	"time"
)

func TestParseAge(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]time.Duration{"": 0, "30d": 720 * time.Hour, "1.5d": 36 * time.Hour, "12h": 12 * time.Hour} {
		if got, err := parseAge(text); err != nil || got != want {
			t.Errorf("%q: got %v, %v, want %v", text, got, err, want)
		}
	}
	for _, bad := range []string{"30", "d", "-1d", "-2h", "30 days", "NaNd"} {
		if got, err := parseAge(bad); err == nil {
			t.Errorf("%q: got %v, want an error", bad, got)
		}
	}
}
