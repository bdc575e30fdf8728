package record

import (
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
)

// A record is signed with a key of this user. A record without a valid signature was made by
// somebody else: schedlab asks before it runs the commands in it. Without a key (no home
// directory, or it cannot be written) every record counts as somebody else's.
const (
	signatureFile = "signature" // in a record
	keyFile       = "record.key"
	keyBytes      = 32
)

// signature returns a plan's signature. It makes the key if there is none yet.
// It is the HMAC-SHA256 (RFC 2104) of the plan's JSON, in hexadecimal with a line end.
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

// makeKey writes a new key that only this user can read. If several processes make one at once,
// the first wins.
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

// Sign writes the user's signature of a plan into the record, if this user can have a key.
func (d *Dir) Sign(plan any) error {
	sum, err := signature(plan)
	if err != nil {
		return nil // without a key a record is asked about when it is run again
	}
	return d.WriteFile(signatureFile, func(w io.Writer) error { _, err := w.Write(sum); return err })
}

// Signed reports whether this user made the record with this plan.
// It compares in constant time.
func (d *Dir) Signed(plan any) bool {
	kept, err := os.ReadFile(filepath.Join(d.Path(), signatureFile))
	if err != nil {
		return false
	}
	sum, err := signature(plan)
	return err == nil && hmac.Equal(kept, sum)
}
