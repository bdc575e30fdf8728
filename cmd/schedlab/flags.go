package main

import (
	"errors"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"schedlab/internal/capabilities/session"
	"schedlab/internal/serving/model"
	"schedlab/internal/shared/mode"
	"schedlab/internal/shared/record"
)

// A choice is a flag that takes one of a few words, which the shell completes. Its present value is
// also accepted, such as "" for a default that is decided later. Upper and lower case do not
// matter; the value is stored as in of. It implements pflag.Value; oneOf declares one.
//
// This file has the kinds of flags and the checks that several commands share. Checks run before anything is
// measured: a mistake costs the user no time.
type choice struct {
	value *string
	of    []string
}

// String returns the present value.
func (c choice) String() string { return *c.value }

// Type returns pflag's word for a text: help then names no type of ours.
func (c choice) Type() string { return "string" }

// Set takes one of the words, in any case, or the present value.
func (c choice) Set(s string) error {
	i := slices.IndexFunc(c.of, func(word string) bool { return strings.EqualFold(word, s) })
	switch {
	case i >= 0:
		*c.value = c.of[i]
	case s != *c.value:
		return notAmong(c.of)
	}
	return nil
}

// notAmong is the error of a value that is none of these. plainly and newRoot look for it, and give
// it a separate message.
type notAmong []string

func (n notAmong) Error() string { return "none of " + strings.Join(n, ", ") }

// oneOf gives fl a flag that takes one of the words in of. initial is the default and need not be
// one of them.
func oneOf(fl *pflag.FlagSet, value *string, name, initial, usage string, of ...string) {
	*value = initial
	fl.Var(choice{value, of}, name, usage)
}

// stampKinds are the values of --stamps.
var stampKinds = []string{record.StampsOff, "basic", record.StampsFull}

// must panics on an error that only a bug of this program can cause, as about a flag that does not
// exist.
func must(err error) {
	if err != nil {
		panic(err)
	}
}

// thisProgram tells a session about this program and its modes.
func thisProgram() session.Program {
	v, _ := program()
	return session.Program{Self: self(), Version: v, Modes: modeFacts(), Begin: begin}
}

// self is the path of this program.
func self() string {
	path, err := os.Executable()
	if err != nil {
		return os.Args[0] // the name it was started by
	}
	return path
}

// modeFacts are the modes by name, with a check of an arm's flags. The measuring half may not
// import the server half, so the command hands it these facts and the check as values.
func modeFacts() map[string]mode.Mode {
	facts := map[string]mode.Mode{}
	for _, m := range model.Modes() {
		m.Check = func(flags map[string]string) error { return checkArm(m.Name, flags) }
		facts[m.Name] = m.Mode
	}
	return facts
}

// given returns the named flags that have a value. The command may lack some.
func given(fl *pflag.FlagSet, names ...string) []string {
	return slices.DeleteFunc(slices.Clone(names), func(name string) bool { return !fl.Changed(name) })
}

// eachGiven calls do with every flag that has a value, in alphabetical order. pflag's Visit would leave out the lists of --config.
func eachGiven(fl *pflag.FlagSet, do func(*pflag.Flag)) {
	fl.VisitAll(func(f *pflag.Flag) {
		if f.Changed {
			do(f)
		}
	})
}

// checkValues refuses the named flags if one was given a value that means "not given": 0 or less, as a user
// who writes --blocks 0 must not get the default silently, or an empty text, as by a shell variable
// that is not set. It looks at the text of the value, so it serves numbers and durations alike.
func checkValues(fl *pflag.FlagSet, names ...string) error {
	for _, name := range given(fl, names...) {
		value := fl.Lookup(name).Value
		switch v := value.String(); {
		case v == "":
			return session.Usagef("--%s is empty; give it a value or leave it out", name)
		case value.Type() != "string" && (v == "0" || v == "0s" || v[0] == '-'):
			return session.Usagef("--%s %s must be above 0; leave it out for the default", name, v)
		}
	}
	return nil
}

// stdin names standard input where a flag or argument takes a file.
const stdin = "-"

// readInput returns what read makes of a file, or of standard input for "-". shown is its name in
// messages. The file is closed when read returns. Errors of read come back unchanged; a file that
// cannot be opened and a directory are errors, too.
func readInput[T any](cmd *cobra.Command, name string, read func(in io.Reader, shown string) (T, error)) (none T, err error) {
	if name == stdin {
		return read(cmd.InOrStdin(), "standard input")
	}
	file, err := os.Open(name)
	if err != nil {
		return none, err
	}
	defer file.Close()
	// Reading a directory would fail as well, with a message that few understand.
	if info, err := file.Stat(); err == nil && info.IsDir() {
		return none, errors.New(name + " is a directory; name a file")
	}
	return read(file, name)
}
