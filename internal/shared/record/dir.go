package record

import (
	"bufio"
	"bytes"
	"cmp"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"schedlab/internal/shared/request"
	"strings"
	"time"
	"unicode"
)

const (
	// DefaultRoot is the directory of runs if the user names none.
	DefaultRoot = "schedlab-runs"
	// MaxBytes bounds the bulky files of one record: requests, scraped metrics and server logs, 400 MB in all.
	MaxBytes = 400_000_000

	latest     = "latest"
	runFile    = "run.json"
	trialsDir  = "trials"
	unfinished = ".unfinished" // suffix of a trial that is being written
	probeBytes = 1 << 20       // room on the disk that must be free before load starts
)

// Files of a trial's directory.
const (
	trialFile    = "trial.json"
	requestsFile = "requests.col.gz"
	stampsFile   = "stamps.col.gz"
	responseFile = "response.hgrm"
	metricsFile  = "metrics.om"
	beforeFile   = "metrics-before.om"
	logFile      = "server.log"
)

// A Dir is the record of one run on disk. Create or Open makes one. It is not
// safe for concurrent use; several processes may read one directory.
//
//	run.json          the Run: plan, and result when the run has ended
//	trials/NNN-arm/   one trial: trial.json and response.hgrm, and unless the record is full
//	                  requests.col.gz, stamps.col.gz, metrics.om, metrics-before.om, server.log
//	request.json      the request for a comparison, with which it can be resumed (package session)
//	why.json          the Explanation, if one was made
//	profiles/ARM/     profiles, if they were asked for, and profiles.json tells which
//	signature         see Sign
type Dir struct {
	path  string
	last  string // the run that root/latest named before this one; "" for none, and for an opened Dir
	bulk  int64  // bytes of bulky files written so far
	limit int64
	full  bool // limit was reached: trials are written without their bulky files, and say so in Trial.Omitted
}

// Create makes a new, empty run directory root/YYYYMMDD-HHMMSS-scenario-xxxx, proves that it can be written,
// and points root/latest at it. xxxx comes from random (rand.Uint32 will do), which is asked again when the
// name is taken: nothing is ever overwritten. Errors name the path and come before any load;
// after one the new directory is removed.
func Create(root, scenario string, now time.Time, random func() uint32) (*Dir, error) {
	failed := func(err error) error {
		return fmt.Errorf("creating a record under %q: %w; choose another place with --out", root, err)
	}
	if err := os.MkdirAll(root, 0o755); err != nil {
		return nil, failed(err)
	}
	path, err := claim(root, now.Format(begun)+"-"+slug(scenario), random)
	if err != nil {
		return nil, failed(err)
	}
	// The link comes last, so that it never names a directory that cannot be written.
	last, _ := os.Readlink(filepath.Join(root, latest))
	err = errors.Join(probe(path), os.MkdirAll(filepath.Join(path, trialsDir), 0o755))
	if err == nil {
		err = link(root, filepath.Base(path))
	}
	if err != nil {
		return nil, failed(errors.Join(err, os.RemoveAll(path)))
	}
	return &Dir{path: path, last: last, limit: MaxBytes}, nil
}

// begun is the format of the start time in a run's name.
const begun = "20060102-150405"

// Discard removes a record that holds no measurement, and points root/latest at the run that it named before.
func (d *Dir) Discard() error {
	if err := d.RestoreLatest(); err != nil {
		return err
	}
	return os.RemoveAll(d.path)
}

// RestoreLatest points root/latest at the run that it named before this one. Use it for a record that
// is no answer by its contents alone: tests of another run, or no measurement.
func (d *Dir) RestoreLatest() error {
	root, name := filepath.Split(d.path)
	path := filepath.Join(root, latest)
	switch now, err := os.Readlink(path); {
	// Another run has taken the link meanwhile, and keeps it.
	case err != nil || now != name:
		return nil
	case d.last == "":
		return os.Remove(path)
	}
	return link(root, d.last)
}

// DropLatest removes root/latest if the run that it names is gone.
func DropLatest(root string) error {
	path := filepath.Join(root, latest)
	if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return os.RemoveAll(path) // no error where there is no link
}

// claim makes a directory with a new name.
func claim(root, stem string, random func() uint32) (path string, err error) {
	// Mkdir fails if the name is taken, so two processes never get the same directory.
	for range 64 {
		path = filepath.Join(root, fmt.Sprintf("%s-%04x", stem, random()&0xffff))
		if err = os.Mkdir(path, 0o755); !errors.Is(err, fs.ErrExist) {
			break
		}
	}
	return path, err
}

// probe writes and removes a file, since directories can still be made on a full disk.
func probe(dir string) error {
	name := filepath.Join(dir, ".probe")
	f, err := os.Create(name)
	if err != nil {
		return err
	}
	_, err = f.Write(make([]byte, probeBytes))
	return cmp.Or(err, f.Sync(), f.Close(), os.RemoveAll(name))
}

// link points root/latest at name in one step.
func link(root, name string) error {
	path := filepath.Join(root, latest)
	if info, err := os.Lstat(path); err == nil && info.Mode()&fs.ModeSymlink == 0 {
		return fmt.Errorf("%q is not a symbolic link, so it cannot name the newest run", path)
	}
	// A rename replaces the old link in one step: a reader always finds one of the two.
	temp := filepath.Join(root, "."+latest+"-"+name)
	if err := os.Symlink(name, temp); err != nil {
		return err
	}
	if err := os.Rename(temp, path); err != nil {
		return errors.Join(err, os.Remove(temp))
	}
	return nil
}

// slug returns s in lower case with only characters that are safe in a file name on every system,
// at most 40 bytes.
func slug(s string) string {
	s = strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9':
			return r
		case r >= 'A' && r <= 'Z':
			return r - 'A' + 'a'
		}
		return '-'
	}, s)
	// Only ASCII is left, so a cut after 40 bytes splits no character.
	return cmp.Or(strings.Trim(s[:min(len(s), 40)], "-"), "run")
}

// Path returns the directory of the record, as given to Create or found by Open.
func (d *Dir) Path() string { return d.path }

// Name returns the run's name, the last element of its path.
func (d *Dir) Name() string { return filepath.Base(d.path) }

// WriteRun replaces run.json atomically. r.Schema and r.Name are filled in.
func (d *Dir) WriteRun(r Run) error {
	r.Schema, r.Name = Schema, d.Name()
	return d.WriteFile(runFile, func(w io.Writer) error { return WriteJSON(w, r) })
}

// WriteFile writes the file name (bench.txt, report.html) in the run directory with the output of
// write. It is atomic: an earlier file stays unchanged until write has succeeded.
func (d *Dir) WriteFile(name string, write func(io.Writer) error) error {
	if name != filepath.Base(name) || !filepath.IsLocal(name) {
		return fmt.Errorf("writing %q: not a plain file name", name)
	}
	path := filepath.Join(d.path, name)
	// The file is written under another name in the same directory, and renamed when it is complete.
	temp, err := os.CreateTemp(d.path, "."+name+"-*")
	if err != nil {
		return fmt.Errorf("writing %q: %w", path, err)
	}
	buf := bufio.NewWriter(temp)
	err = write(buf)
	if err == nil {
		err = buf.Flush()
	}
	if err == nil {
		err = temp.Chmod(0o644) // CreateTemp makes a file that only this user can read
	}
	if err == nil {
		err = temp.Sync()
	}
	// The file is closed in any case. Its first error counts.
	if closed := temp.Close(); err == nil {
		err = closed
	}
	if err == nil {
		err = os.Rename(temp.Name(), path)
	}
	if err != nil {
		_ = os.Remove(temp.Name())
		return fmt.Errorf("writing %q: %w", path, err)
	}
	// Make the rename survive a power cut. Some file systems refuse to sync a directory; the rename itself
	// has succeeded already.
	if f, err := os.Open(d.path); err == nil {
		_ = f.Sync()
		_ = f.Close()
	}
	return nil
}

// Files are the bulky files of a trial. nil ones are not written.
type Files struct {
	Metrics []byte           // the scraped series as OpenMetrics, or as the server writes them
	Before  []byte           // the series before the load, of servers that are not ours
	Log     []byte           // the server's log
	Stamps  []request.Stamps // one per request, in the order of requests
}

// WriteTrial writes trials/NNN-arm. The directory gets its name only when it is complete, so a killed run is
// readable up to its last trial. A trial's number can be written only once. The files of a trial are not synced
// one by one, since that would load the machine under test more than the trial does. A power cut may spoil the
// last trials; [Dir.Trials] then returns an error for each.
func (d *Dir) WriteTrial(t Trial, requests []request.Request, files Files) (err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("recording trial %d of %q: %w", t.Number, t.Arm, err)
		}
	}()
	var encoded bytes.Buffer
	if err := request.Encode(&encoded, requests); err != nil {
		return err
	}
	all := map[string][]byte{requestsFile: encoded.Bytes(), metricsFile: files.Metrics, beforeFile: files.Before, logFile: files.Log}
	if files.Stamps != nil {
		var stamps bytes.Buffer
		if err := request.EncodeStamps(&stamps, files.Stamps); err != nil {
			return err
		}
		all[stampsFile] = stamps.Bytes()
	}
	var size int64
	for _, b := range all {
		size += int64(len(b))
	}
	// Once full the record stays full, even if a later trial would fit.
	if d.full = d.full || d.bulk+size > d.limit; d.full {
		all, size = map[string][]byte{}, 0
		t.Omitted = fmt.Sprintf("requests, metrics and log left out: the record is full (%d MB)", d.limit/1_000_000)
	}
	t.Schema = Schema
	var response, trial bytes.Buffer
	if err := errors.Join(t.Histogram(requests).WriteHGRM(&response), WriteJSON(&trial, t)); err != nil {
		return err
	}
	all[responseFile], all[trialFile] = response.Bytes(), trial.Bytes()

	path := filepath.Join(d.path, trialsDir, fmt.Sprintf("%03d-%s", t.Number, slug(t.Arm)))
	if _, err := os.Lstat(path); err == nil {
		return fmt.Errorf("%q: %w", path, fs.ErrExist)
	}
	// A reader skips a directory with this suffix.
	temp := path + unfinished
	if err := os.Mkdir(temp, 0o755); err != nil {
		return err
	}
	for name, b := range all {
		if b != nil && err == nil {
			err = os.WriteFile(filepath.Join(temp, name), b, 0o644)
		}
	}
	if err == nil {
		err = os.Rename(temp, path)
	}
	if err != nil {
		return errors.Join(err, os.RemoveAll(temp))
	}
	// Only a trial that was written counts.
	d.bulk += size
	return nil
}

// WriteJSON writes v as indented JSON, in one Write, without escaping <, > and &. It escapes characters that
// change the direction of text, since a terminal may show the JSON.
func WriteJSON(w io.Writer, v any) error {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(v); err != nil {
		return err
	}
	_, err := io.WriteString(w, directionMarks.Replace(b.String()))
	return err
}

// directionMarks escapes the characters of Unicode's property Bidi_Control. Valid JSON has them in strings only.
var directionMarks = func() *strings.Replacer {
	var pairs []string
	for _, r := range unicode.Bidi_Control.R16 {
		for c := r.Lo; c <= r.Hi; c += r.Stride {
			pairs = append(pairs, string(rune(c)), fmt.Sprintf(`\u%04x`, c))
		}
	}
	return strings.NewReplacer(pairs...)
}()

// A record is signed with a key of this user. A record without a valid signature was made by
// somebody else: schedlab asks before it runs the commands in it. Without a key (no home
// directory, or it cannot be written) every record counts as somebody else's.
const (
	signatureFile = "signature" // in a record
	keyFile       = "record.key"
	keyBytes      = 32
)

// mostSignature bounds a signature when it is read, in bytes.
const mostSignature = 1 << 10

// userKey returns this user's key. It makes one if there is none yet.
func userKey() ([]byte, error) {
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
	return key, err
}

// signature returns the plan's JSON as run.json has it, and its signature: the HMAC-SHA256 (RFC 2104), in hexadecimal with
// a line end. It covers the file's text as json.Marshal writes it (no white space; <, > and & escaped), not this program's
// types: a later schedlab that words a plan differently still knows it.
func (d *Dir) signature(key []byte) (plan json.RawMessage, signature []byte, err error) {
	var run struct {
		Plan json.RawMessage `json:"plan"`
	}
	if err := readJSON(filepath.Join(d.path, runFile), &run); err != nil {
		return nil, nil, err
	}
	text, err := json.Marshal(run.Plan)
	if err != nil {
		return nil, nil, err
	}
	sum := hmac.New(sha256.New, key)
	sum.Write(text)
	return run.Plan, fmt.Appendf(nil, "%x\n", sum.Sum(nil)), nil
}

// makeKey writes a new key that only this user can read. If several processes make one at once, the first wins.
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
	// A link fails if the key exists, so two processes end with the same key, and no process reads a part
	// of one.
	if err := os.Link(temp.Name(), path); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, err
	}
	return os.ReadFile(path)
}

// Sign writes the user's signature of the plan that the record has, if this user can have a key.
func (d *Dir) Sign() error {
	key, err := userKey()
	if err != nil {
		return nil // without a key a record is asked about when it is run again
	}
	_, sum, err := d.signature(key)
	if err != nil {
		return err
	}
	return d.WriteFile(signatureFile, func(w io.Writer) error { _, err := w.Write(sum); return err })
}

// Signed reports whether this user signed the record with this plan, which was read from it: an edit
// breaks the signature. It compares in constant time.
func (d *Dir) Signed(plan Plan) bool {
	kept, err := readAll(filepath.Join(d.path, signatureFile), mostSignature)
	if err != nil {
		return false
	}
	key, err := userKey()
	if err != nil {
		return false
	}
	text, sum, err := d.signature(key)
	if err != nil || !hmac.Equal(kept, sum) {
		return false
	}
	// The caller may have read another plan: the file can have two, or be another one by now.
	var signed Plan
	if err := json.Unmarshal(text, &signed); err != nil {
		return false
	}
	was, errWas := json.Marshal(signed)
	is, errIs := json.Marshal(plan)
	return errWas == nil && errIs == nil && bytes.Equal(was, is)
}

// WriteProfile writes one of an arm's profiles, or a picture of it, and returns its path below
// the run's directory.
func (d *Dir) WriteProfile(arm, name string, write func(io.Writer) error) (string, error) {
	place := slug(arm)
	if len(arm) > len(place) { // slug cut the name: another arm's may begin in the same way
		place += fmt.Sprintf("-%08x", crc32.ChecksumIEEE([]byte(arm)))
	}
	below := filepath.Join("profiles", place)
	if err := os.MkdirAll(filepath.Join(d.path, below), 0o755); err != nil {
		return "", fmt.Errorf("making a directory for profiles: %w", err)
	}
	in := Dir{path: filepath.Join(d.path, below)}
	return filepath.ToSlash(filepath.Join(below, name)), in.WriteFile(name, write)
}
