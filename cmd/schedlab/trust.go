package main

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"schedlab/internal/command"
	"schedlab/internal/record"
	"schedlab/internal/scenario"
)

// A record is signed with a key of this user, so that one from somebody else is known: what
// that would have this machine run is asked about first. Where there is no key (no home, or it
// cannot be written) no record is known to be the user's own.
const (
	signatureFile = "signature" // in a record
	keyFile       = "record.key"
	keyBytes      = 32
)

const runCommandsHelp = "run what the record of somebody else names beside schedlab's own servers: commands, addresses, environment variables"

// signature returns a plan's signature. It makes the key if there is none yet.
func signature(plan any) ([]byte, error) {
	home, err := os.UserConfigDir()
	if err != nil {
		return nil, err
	}
	path := filepath.Join(home, "schedlab", keyFile)
	key, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		key, err = makeKey(path)
	}
	if err == nil && len(key) != keyBytes {
		err = fmt.Errorf("%q is no key of %d bytes", path, keyBytes)
	}
	if err != nil {
		return nil, err
	}
	text, err := json.Marshal(plan)
	if err != nil {
		return nil, err
	}
	sum := hmac.New(sha256.New, key)
	sum.Write(text)
	return fmt.Appendf(nil, "%x\n", sum.Sum(nil)), nil
}

// makeKey writes a new key that only this user can read. Of several processes at once the first wins.
func makeKey(path string) ([]byte, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, err
	}
	temp, err := os.CreateTemp(filepath.Dir(path), keyFile+"-*") // mode 0600
	if err != nil {
		return nil, err
	}
	defer os.Remove(temp.Name())
	key := make([]byte, keyBytes)
	_, _ = rand.Read(key) // never fails
	_, err = temp.Write(key)
	if err := errors.Join(err, temp.Close()); err != nil {
		return nil, err
	}
	if err := os.Link(temp.Name(), path); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, err
	}
	return os.ReadFile(path)
}

// sign keeps a plan's signature in its record, if this user can have a key.
func sign(dir *record.Dir, plan any) error {
	sum, err := signature(plan)
	if err != nil {
		return nil // without a key a record is asked about when it is run again
	}
	return dir.WriteFile(signatureFile, func(w io.Writer) error { _, err := w.Write(sum); return err })
}

// signed reports whether this user made a record with this plan.
func signed(dir *record.Dir, plan any) bool {
	kept, err := os.ReadFile(filepath.Join(dir.Path(), signatureFile))
	if err != nil {
		return false
	}
	sum, err := signature(plan)
	return err == nil && hmac.Equal(kept, sum)
}

// mayRun refuses what a scenario from a record would run or ask: servers on other machines, and
// in a record that is not the user's own, unless --run-commands allows it, other programs,
// servers that run already, and variables of a server's environment. Servers of this very
// program with its flags do no harm.
func (f *compareFlags) mayRun(ctx context.Context, dir *record.Dir, plan any, s scenario.Scenario) error {
	arms := s.Contestants()
	if err := f.stayLocal(ctx, arms); err != nil {
		return err
	}
	var foreign []string
	for _, a := range arms {
		if a.Mode == "" || len(a.Env) > 0 {
			foreign = append(foreign, "  "+a.Name+": "+command.Join(a.Argv(f.Self, 1, record.StampsOff)))
		}
	}
	if len(foreign) == 0 || f.runCommands || signed(dir, plan) {
		return nil
	}
	return usagef("%s was not recorded by you on this machine, and these are not schedlab's own servers:\n%s\nif you trust them, say --run-commands, which starts the commands and sends load to the addresses",
		dir.Path(), strings.Join(foreign, "\n"))
}

// signedMap is what of a map's plan stays the same when it goes on.
func signedMap(p record.MapPlan) record.MapPlan {
	p.Budget = 0
	return p
}
