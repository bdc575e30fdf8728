package attack

import (
	"errors"
	"fmt"
	"os"
	"time"

	"schedlab/internal/measuring/load"
	"schedlab/internal/shared/request"
	"schedlab/internal/shared/responses"
)

// partSuffix ends the name of a results file until its attack has finished. A killed attack
// leaves the file under that name.
const partSuffix = ".part"

// Files are the two files that an attack writes: its results, and the distribution of its response
// times. They are opened before the load starts, so that a bad path costs nothing. Results are
// written as requests end, under a partial name, so that a killed attack leaves a readable file.
// The zero value writes nothing. Files is not safe for concurrent use.
//
// Order of calls: OpenFiles, then Discard if the load did not start, else Start, Write for each request
// and Finish; Close in any case.
type Files struct {
	results, hgrm *os.File
	name          string // final name of results; "" when it need not be renamed
	plain         bool   // hgrm is a file, not a pipe or a terminal
	writer        *load.VegetaWriter
	failed        error // of the first Write that failed
}

// OpenFiles opens the files that --results and --hgrm name; "" means no such file. which holds for
// each request the index of its target in targets; nil means that the targets take turns. Errors
// name the flag. The caller calls Close in the end, and Discard before it if the load did not start.
func OpenFiles(results, hgrm string, targets []load.Target, which []uint32, stamp load.Stamp) (_ *Files, err error) {
	files := &Files{}
	// If one file cannot be opened, the other one is removed again.
	defer func() {
		if err != nil {
			err = errors.Join(err, files.Discard())
		}
	}()
	if results != "" {
		if files.results, files.name, err = newFile("results", results, partSuffix); err != nil {
			return nil, err
		}
		if files.writer, err = load.NewVegetaWriter(files.results, "schedlab", targets, which, stamp); err != nil {
			return nil, err
		}
	}
	if hgrm != "" {
		var final string
		files.hgrm, final, err = newFile("hgrm", hgrm, "")
		files.plain = final != ""
	}
	return files, err
}

// newFile creates the file name+suffix, which must not exist, nor may name. final is the name that
// the file is to have in the end. If name is a pipe or a terminal, newFile opens it and final is "".
func newFile(flag, name, suffix string) (f *os.File, final string, err error) {
	info, err := os.Stat(name)
	switch {
	// An earlier attack's results are never overwritten.
	case err == nil && info.Mode().IsRegular():
		return nil, "", fmt.Errorf("--%s: %s exists and is never overwritten; remove it or give another name", flag, name)
	case err == nil:
		// A pipe, a terminal or /dev/stdout: it is not created, renamed or removed.
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

// start sets the start of the attack. Call it before the first Write.
func (a *Files) start(at time.Time) {
	if a.writer != nil {
		a.writer.Start = at
	}
}

// Write appends request seq to the results. After an error it writes nothing more; Finish returns that error.
func (a *Files) Write(seq int, r request.Request) error {
	if a.writer == nil || a.failed != nil {
		return nil
	}
	a.failed = a.writer.Write(seq, r)
	return a.failed
}

// Finish writes the distribution of response times, and gives the results file its final name. If a Write failed, it returns
// that error, and the results so far stay under the partial name.
func (a *Files) Finish(response *responses.Histogram) (err error) {
	if err = a.failed; a.writer != nil && err == nil {
		if err = a.writer.Flush(); err == nil && a.name != "" {
			// The data must be on the disk before the final name claims that the file is whole.
			if err = a.results.Sync(); err == nil {
				err = give(a.results.Name(), a.name)
			}
		}
	}
	if a.hgrm != nil {
		herr := response.WriteHGRM(a.hgrm)
		if herr == nil && a.plain {
			herr = a.hgrm.Sync()
		}
		err = errors.Join(err, herr, a.hgrm.Close())
		a.hgrm = nil
	}
	return err
}

// give renames part to name and overwrites no other file: it first creates name as an empty file,
// which fails if name exists, and the rename replaces that one.
func give(part, name string) error {
	// os.Rename alone would replace a file that somebody made under this name meanwhile.
	mine, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if errors.Is(err, os.ErrExist) {
		return fmt.Errorf("%s was made meanwhile and is not overwritten; the results are in %s", name, part)
	}
	if err != nil {
		return err
	}
	return errors.Join(mine.Close(), os.Rename(part, name))
}

// Discard removes the files of an attack that did not start. It leaves pipes and terminals alone.
func (a *Files) Discard() (err error) {
	for _, f := range []*os.File{a.results, a.hgrm} {
		if f == nil {
			continue
		}
		// Only files that OpenFiles created are regular: existing ones were refused.
		if info, serr := f.Stat(); serr == nil && info.Mode().IsRegular() {
			err = errors.Join(err, os.Remove(f.Name()))
		}
	}
	return err
}

// Close closes the files. Errors do not matter: Finish has synced a file, or has returned its error, and
// there may be no file.
func (a *Files) Close() {
	_ = a.results.Close()
	_ = a.hgrm.Close()
}
