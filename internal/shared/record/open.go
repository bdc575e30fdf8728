package record

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"schedlab/internal/shared/request"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
)

// maxJSON bounds run.json and trial.json when they are read, in bytes.
const maxJSON = 64 << 20

// mapFile is the file of a map, which earlier versions wrote.
const mapFile = "map.json"

// Open finds and reads a run. name is `latest`, the name of a run under root, or the path of a
// run directory or of its run.json. Every error is one line that names the file and the remedy.
func Open(name, root string) (*Dir, Run, error) {
	path, err := find(name, root)
	if err != nil {
		return nil, Run{}, err
	}
	var run Run
	if err := readJSON(filepath.Join(path, runFile), &run); err != nil {
		return nil, Run{}, err
	}
	if run.Result != nil { // which knows where it was written, from where it was made
		run.Result.Head().Dir = path
	}
	return &Dir{path: path, limit: MaxBytes}, run, nil
}

// find returns the directory of a run.
func find(name, root string) (string, error) {
	// A plain name is looked up below root first, then as a path. latest is only a link below root, and a
	// path with a separator is only a path.
	places := []string{filepath.Join(root, name), name}
	switch {
	case name == "":
		return "", errors.New("opening a run: no name given; give a path, a run's name or \"latest\"")
	case name == latest:
		places = places[:1]
	case filepath.IsAbs(name) || strings.ContainsRune(name, filepath.Separator):
		places = places[1:]
	}
	for _, place := range places {
		switch dir, err := dirWith(place, runFile); {
		case err == nil:
			return dir, nil
		case !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ENOTDIR):
			return "", fmt.Errorf("opening run %q: %w", name, err)
		}
	}
	for _, place := range places {
		if _, err := dirWith(place, mapFile); err == nil {
			return "", fmt.Errorf("opening run %q: it is a map, and this version reads no maps; its pages map.html and map.svg are still there, and below cells/ are its comparisons, which are runs", name)
		}
	}
	hint := "no runs there yet; make one with \"schedlab compare\""
	if runs, err := Runs(root); err == nil && len(runs) > 0 {
		hint = "the newest there is " + runs[0]
	}
	for i, place := range places {
		places[i] = strconv.Quote(place)
	}
	return "", fmt.Errorf("opening run %q: no %s in %s (runs are kept in %q: %s)", name, runFile, strings.Join(places, " or "), root, hint)
}

// dirWith returns the directory of a record that has the file. place is that directory, a symbolic link
// to it, or the path of the file.
func dirWith(place, file string) (string, error) {
	if filepath.Base(place) == file {
		place = filepath.Dir(place)
	}
	if err := regular(os.Stat(filepath.Join(place, file))); err != nil {
		return "", err
	}
	// latest may name another run a moment later, so its present target is kept.
	if target, err := filepath.EvalSymlinks(place); err == nil {
		return target, nil
	}
	return place, nil
}

// Runs returns the names of the runs under root, newest first.
func Runs(root string) ([]string, error) {
	entries, err := os.ReadDir(root)
	if err != nil {
		return nil, fmt.Errorf("listing runs: %w", err)
	}
	var names []string
	for _, e := range entries {
		if e.IsDir() && regular(os.Stat(filepath.Join(root, e.Name(), runFile))) == nil {
			names = append(names, e.Name())
		}
	}
	// A name begins with the start time, and ReadDir sorts by name.
	slices.Reverse(names)
	return names, nil
}

// A TrialRecord is one trial read from the record.
type TrialRecord struct {
	Trial
	Path     string            // its directory
	Requests []request.Request // in the order they were scheduled; none if left out, see Omitted
	Stamps   []request.Stamps  // one per request; none if none were stamped
}

// Trials reads the trials one at a time, in the order they ran. Memory holds the requests of one trial only: reading the next
// trial overwrites Requests and Stamps, so copy what you keep. For a trial that cannot be read, Trials yields the error and a
// TrialRecord with only its Path, and goes on.
// It skips trials that a killed run left half-written: see Unfinished. The order is by the trials' numbers. It
// may be used again, and reads the files again then.
func (d *Dir) Trials() iter.Seq2[TrialRecord, error] {
	return func(yield func(TrialRecord, error) bool) {
		names, err := d.trialNames(true)
		if err != nil {
			yield(TrialRecord{}, err)
			return
		}
		var space TrialRecord
		for _, name := range names {
			t, err := readTrial(filepath.Join(d.path, trialsDir, name), space)
			if !yield(t, err) {
				return
			}
			if cap(t.Requests) > 0 {
				space.Requests = t.Requests
			}
			if cap(t.Stamps) > 0 {
				space.Stamps = t.Stamps
			}
		}
	}
}

// Unfinished returns the paths of trials that were cut off while being written; empty for a run
// that was not killed.
func (d *Dir) Unfinished() ([]string, error) {
	names, err := d.trialNames(false)
	for i, name := range names {
		names[i] = filepath.Join(d.path, trialsDir, name)
	}
	return names, err
}

// trialNames lists the directories of the complete trials, or of the incomplete ones, by number.
func (d *Dir) trialNames(complete bool) ([]string, error) {
	entries, err := os.ReadDir(filepath.Join(d.path, trialsDir))
	if err != nil {
		return nil, fmt.Errorf("listing trials: %w", err)
	}
	var names []string
	for _, e := range entries {
		if e.IsDir() && strings.HasSuffix(e.Name(), unfinished) != complete {
			names = append(names, e.Name())
		}
	}
	slices.SortStableFunc(names, func(a, b string) int { return trialNumber(a) - trialNumber(b) })
	return names, nil
}

// trialNumber returns the number at the start of a trial's directory name, 0 if there is none.
func trialNumber(name string) (n int) {
	_, _ = fmt.Sscanf(name, "%d-", &n)
	return n
}

// readTrial reads a trial's directory, into the memory of space. Requests may be missing if Omitted is set; stamps may be
// missing in any trial. After an error it returns only the Path. The two files are read at the same time, which halves the
// wait for a long trial.
func readTrial(path string, space TrialRecord) (t TrialRecord, err error) {
	defer func() {
		if t.Path = path; err != nil {
			t = TrialRecord{Path: path}
		}
	}()
	if err := readJSON(filepath.Join(path, trialFile), &t.Trial); err != nil {
		return t, err
	}
	var stamps []request.Stamps
	var unstamped error
	var reading sync.WaitGroup
	reading.Go(func() {
		stamps, unstamped = readColumns(filepath.Join(path, stampsFile), request.DecodeStamps, space.Stamps)
	})
	t.Requests, err = readColumns(filepath.Join(path, requestsFile), request.Decode, space.Requests)
	reading.Wait()
	switch {
	case errors.Is(err, fs.ErrNotExist) && t.Omitted != "":
		return t, nil // the record was full; the trial says so itself
	case err != nil:
		return t, err
	case errors.Is(unstamped, fs.ErrNotExist):
		return t, nil
	case unstamped == nil && len(stamps) != len(t.Requests):
		unstamped = fmt.Errorf("reading %q: stamps of %d requests, there are %d", path, len(stamps), len(t.Requests))
	}
	t.Stamps = stamps
	return t, unstamped
}

// readColumns opens and decodes one columnar file, into the memory of space.
func readColumns[T any](file string, decode func(r io.Reader, size int64, space []T) ([]T, error), space []T) ([]T, error) {
	f, err := OpenRegular(file)
	if err != nil {
		return nil, fmt.Errorf("reading a trial: %w", err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, fmt.Errorf("reading a trial: %w", err)
	}
	rows, err := decode(f, info.Size(), space)
	if err != nil {
		return nil, fmt.Errorf("reading %q: %w", file, err)
	}
	return rows, nil
}

// OpenRegular opens a file of a record. Anything but a regular file, or a link to one, is an error: a pipe
// would keep its reader waiting for ever.
func OpenRegular(name string) (*os.File, error) {
	// Without O_NONBLOCK, opening a pipe waits for its writer.
	f, err := os.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	if err := regular(f.Stat()); err != nil {
		return nil, errors.Join(&fs.PathError{Op: "open", Path: name, Err: err}, f.Close())
	}
	return f, nil
}

// regular returns an error for a pipe, a device or a directory in the place of a file. info and err are the results of one
// call.
func regular(info fs.FileInfo, err error) error {
	if err == nil && !info.Mode().IsRegular() {
		return errors.New("not a regular file, so not written by schedlab")
	}
	return err
}

// readAll reads a regular file of at most most bytes. Of a larger one it reads one byte more, so that the caller can refuse it.
func readAll(name string, most int64) ([]byte, error) {
	f, err := OpenRegular(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, most+1))
}

// ReadJSON reads a JSON file of the record into v, and reports whether there is one.
func (d *Dir) ReadJSON(name string, v any) (there bool, err error) {
	err = readJSON(filepath.Join(d.path, name), v)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}

// readJSON reads one of schedlab's JSON files into v. It refuses a file that is too large, was
// not written by schedlab, or has a newer schema.
func readJSON(path string, v any) error {
	data, err := readAll(path, maxJSON)
	if err != nil {
		return fmt.Errorf("reading the record: %w", err)
	}
	if len(data) > maxJSON {
		return fmt.Errorf("reading %q: larger than %d MiB, so not written by schedlab", path, maxJSON>>20)
	}
	// The schema is read first: a newer document may have fields of other types, and its error must name the
	// version.
	var head struct {
		Schema int `json:"schema"`
	}
	err = json.Unmarshal(data, &head)
	switch {
	case err != nil:
		// The head could not be decoded. err says why, and is returned below.
	case head.Schema > Schema:
		return fmt.Errorf("reading %q: schema %d, this schedlab reads up to %d: use a newer schedlab", path, head.Schema, Schema)
	case head.Schema < 1:
		return fmt.Errorf("reading %q: no schema number, so not written by schedlab", path)
	default:
		err = json.Unmarshal(data, v)
	}
	syntax, isSyntax := errors.AsType[*json.SyntaxError](err)
	kind, isKind := errors.AsType[*json.UnmarshalTypeError](err)
	at := int64(0)
	switch {
	case err == nil:
		return nil
	case len(data) == 0:
		return fmt.Errorf("reading %q: the file is empty; the run cannot be recovered from it", path)
	case isSyntax:
		at = syntax.Offset
	case isKind:
		at = kind.Offset
	default:
		return fmt.Errorf("reading %q: %w", path, err)
	}
	return fmt.Errorf("reading %q: corrupt at byte %d: %w; restore the file or run again", path, at, err)
}
