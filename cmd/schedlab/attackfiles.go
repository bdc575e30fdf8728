package main

import (
	"errors"
	"fmt"
	"os"
	"time"

	"schedlab/internal/load"
	"schedlab/internal/record"
)

// partSuffix marks results of an attack that is not over, or was killed.
const partSuffix = ".part"

// attackFiles are opened before the load starts, so that a bad path costs
// nothing. Results are written as requests end, under a name that says that more
// is to come; what a killed attack leaves is readable.
type attackFiles struct {
	results, hgrm *os.File
	name          string // of results when whole; "" when there is nothing to rename
	plain         bool   // hgrm is a file, not a pipe or a terminal
	writer        *load.VegetaWriter
}

func (f *attackFlags) openFiles(targets []load.Target, which []uint32) (*attackFiles, error) {
	files := &attackFiles{}
	if f.results != "" && f.loop == "closed" && len(targets) > 1 {
		return nil, usagef("--results of a closed loop with several targets cannot say which was asked; give one target")
	}
	stamp := load.ScheduledStamp
	if f.timestamps == "sent" {
		stamp = load.SentStamp
	}
	err := func() (err error) {
		if f.results != "" {
			if files.results, files.name, err = newFile("results", f.results, partSuffix); err != nil {
				return err
			}
			if files.writer, err = load.NewVegetaWriter(files.results, "schedlab", targets, stamp); err != nil {
				return usage(err)
			}
			files.writer.Which = which
		}
		if f.hgrm != "" {
			var final string
			files.hgrm, final, err = newFile("hgrm", f.hgrm, "")
			files.plain = final != ""
		}
		return err
	}()
	if err != nil {
		return nil, errors.Join(err, files.discard())
	}
	return files, nil
}

// newFile creates a file that does not exist, with suffix at its name's end; or
// opens what is no file to overwrite, like a pipe or a terminal.
func newFile(flag, name, suffix string) (f *os.File, final string, err error) {
	info, err := os.Stat(name)
	switch {
	case err == nil && info.Mode().IsRegular():
		return nil, "", usagef("--%s: %s exists and is never overwritten; remove it or give another name", flag, name)
	case err == nil:
		f, err = os.OpenFile(name, os.O_WRONLY, 0)
	default:
		f, err = os.OpenFile(name+suffix, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
		final = name
		if errors.Is(err, os.ErrExist) {
			err = fmt.Errorf("%s exists: another attack writes it, or was killed; remove it or give another name", name+suffix)
		}
	}
	if err != nil {
		return nil, "", usagef("--%s: %w", flag, err)
	}
	return f, final, nil
}

// start takes the attack's start.
func (a *attackFiles) start(at time.Time) {
	if a.writer != nil {
		a.writer.Start = at
	}
}

func (a *attackFiles) write(seq int, r record.Request) error {
	if a.writer == nil {
		return nil
	}
	err := a.writer.Write(seq, r)
	if err != nil {
		a.writer = nil // what is there stays as it is, under its partial name
	}
	return err
}

// finish writes the distribution and gives the results their name.
func (a *attackFiles) finish(result *load.Result) (err error) {
	if a.writer != nil {
		if err = a.writer.Flush(); err == nil && a.name != "" {
			if err = a.results.Sync(); err == nil {
				err = give(a.results.Name(), a.name)
			}
		}
	}
	if a.hgrm != nil {
		h := record.NewHistogram()
		for _, r := range result.Requests {
			if r.Sent >= 0 {
				h.Record(time.Duration(r.Done - r.Scheduled))
			}
		}
		herr := h.WriteHGRM(a.hgrm)
		if herr == nil && a.plain {
			herr = a.hgrm.Sync()
		}
		err = errors.Join(err, herr, a.hgrm.Close())
		a.hgrm = nil
	}
	return err
}

// give renames a file, to a name that nobody else has taken meanwhile: an empty file
// of our own holds the name, and no other, for the rename to replace.
func give(part, name string) error {
	mine, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if errors.Is(err, os.ErrExist) {
		return fmt.Errorf("%s was made meanwhile and is not overwritten; the results are in %s", name, part)
	}
	if err != nil {
		return err
	}
	return errors.Join(mine.Close(), os.Rename(part, name))
}

// discard removes the files of an attack that did not begin.
func (a *attackFiles) discard() (err error) {
	for _, f := range []*os.File{a.results, a.hgrm} {
		if f == nil {
			continue
		}
		if info, serr := f.Stat(); serr == nil && info.Mode().IsRegular() {
			err = errors.Join(err, os.Remove(f.Name()))
		}
	}
	return err
}

func (a *attackFiles) close() {
	for _, f := range []*os.File{a.results, a.hgrm} {
		if f != nil {
			_ = f.Close() // written through, or its failure is told
		}
	}
}
