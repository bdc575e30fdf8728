package record

import (
	"bufio"
	"errors"
	"io"
	"os"
)

// writeTo writes the output of write to path, buffered.
func writeTo(path string, write func(io.Writer) error) error { return writeOut(path, write, false) }

// writeSync is writeTo, but returns only when the data is on the disk.
func writeSync(path string, write func(io.Writer) error) error { return writeOut(path, write, true) }

// writeOut creates or truncates path and writes it, buffered. If sync is set, it returns only
// when the data is on the disk.
func writeOut(path string, write func(io.Writer) error, sync bool) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	buf := bufio.NewWriter(f)
	err = write(buf)
	if err == nil {
		err = buf.Flush()
	}
	if err == nil && sync {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}

// syncDir makes a rename survive a power cut where the file system can; some
// refuse to sync a directory, and the rename itself has succeeded already.
func syncDir(path string) {
	if f, err := os.Open(path); err == nil {
		_ = f.Sync()
		_ = f.Close()
	}
}
