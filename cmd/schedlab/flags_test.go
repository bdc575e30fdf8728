package main

import (
	"testing"

	"github.com/spf13/pflag"
)

// A choice takes its words in capitals or not, and names them to any other.
func TestChoice(t *testing.T) {
	var level string
	fl := pflag.NewFlagSet("", pflag.ContinueOnError)
	oneOf(fl, &level, "log-level", "info", "", "debug", "info")
	if err := fl.Set("log-level", "DEBUG"); err != nil || level != "debug" {
		t.Errorf("DEBUG: got %q and %v, want debug", level, err)
	}
	if err := fl.Set("log-level", "info+2"); err == nil || level != "debug" {
		t.Errorf("info+2: got %q and %v, want an error and debug as before", level, err)
	}
}
