package attack

import (
	"errors"
	"fmt"
	"os"
	"time"

	"schedlab/internal/load"
	"schedlab/internal/record"
)

// partSuffix ends the name of results whose attack is not over, or was killed.
const partSuffix = ".part"

// Files are the results and the distribution of response times that an attack writes. They are
// opened before the load starts, so that a bad path costs nothing. Results are written as requests
// end, under a partial name; what a killed attack leaves is readable. The zero value writes nothing.
type Files struct {
	results, hgrm *os.File
	name          string // of results when whole; "" when there is nothing to rename
	plain         bool   // hgrm is a file, not a pipe or a terminal
	writer        *load.VegetaWriter
}

// OpenFiles opens what --results and --hgrm name, each of which may be "". Which tells for each
// request the target it asks, nil for all in turn. Errors name the flag.
func OpenFiles(results, hgrm string, targets []load.Target, which []uint32, stamp load.Stamp) (*Files, error) {
	files := &Files{}
	err := func() (err error) {
		if results != "" {
			if files.results, files.name, err = newFile("results", results, partSuffix); err != nil {
				return err
			}
			if files.writer, err = load.NewVegetaWriter(files.results, "schedlab", targets, stamp); err != nil {
				return err
			}
			files.writer.Which = which
		}
		if hgrm != "" {
			var final string
			files.hgrm, final, err = newFile("hgrm", hgrm, "")
			files.plain = final != ""
		}
		return err
	}()
	if err != nil {
		return nil, errors.Join(err, files.Discard())
	}
	return files, nil
}

// newFile creates a file that does not exist, with suffix at its name's end. A pipe or a terminal
// exists already and is opened.
func newFile(flag, name, suffix string) (f *os.File, final string, err error) {
	info, err := os.Stat(name)
	switch {
	case err == nil && info.Mode().IsRegular():
		return nil, "", fmt.Errorf("--%s: %s exists and is never overwritten; remove it or give another name", flag, name)
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
		return nil, "", fmt.Errorf("--%s: %w", flag, err)
	}
	return f, final, nil
}

// Start tells when the attack started. It comes before the first Write.
func (a *Files) Start(at time.Time) {
	if a.writer != nil {
		a.writer.Start = at
	}
}

// Write adds a request to the results.
func (a *Files) Write(seq int, r record.Request) error {
	if a.writer == nil {
		return nil
	}
	err := a.writer.Write(seq, r)
	if err != nil {
		a.writer = nil // what is there stays as it is, under its partial name
	}
	return err
}

// Finish writes the distribution and gives the results their name.
func (a *Files) Finish(result *load.Result) (err error) {
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

// give renames a file and overwrites nobody else's: it first takes the name with an empty file, which
// the rename replaces.
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

// Discard removes the files of an attack that did not begin.
func (a *Files) Discard() (err error) {
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

// Close closes the files.
func (a *Files) Close() {
	for _, f := range []*os.File{a.results, a.hgrm} {
		if f != nil {
			_ = f.Close() // written through, or its failure is told
		}
	}
}
