package cluster

import (
	"archive/tar"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// Files of the collector's Pod, below its working directory.
const (
	answerFile = "answer" // what the command printed
	exitFile   = "exit"   // its exit code; there when it has ended
	pidFile    = "pid"    // its process
)

// Collect runs argv with the file request as its standard input, and writes its progress to progress. Then it waits until
// ctx ends or keepFor has passed, so that the record can be fetched. An error means that argv could not be run; the record
// tells how it ended.
func Collect(ctx context.Context, argv []string, request string, progress io.Writer) error {
	in, err := os.Open(request)
	if err != nil {
		return err
	}
	defer in.Close()
	answer, err := os.Create(answerFile)
	if err != nil {
		return err
	}
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = in, answer, progress
	if err := cmd.Start(); err != nil {
		return err
	}
	stop := context.AfterFunc(ctx, func() { _ = cmd.Process.Signal(syscall.SIGTERM) }) // it may have ended
	defer stop()
	err = os.WriteFile(pidFile, []byte(strconv.Itoa(cmd.Process.Pid)), 0o644)
	ended := cmd.Wait()
	if _, known := errors.AsType[*exec.ExitError](ended); ended != nil && !known {
		return ended
	}
	err = errors.Join(err, answer.Close(), os.WriteFile(exitFile+".new", []byte(strconv.Itoa(cmd.ProcessState.ExitCode())), 0o644), os.Rename(exitFile+".new", exitFile))
	if err != nil {
		return err
	}
	fmt.Fprintf(progress, "the command has ended with exit code %d; what it left can be fetched for %v\n", cmd.ProcessState.ExitCode(), keepFor)
	_ = pause(ctx, keepFor)
	return nil
}

// Interrupt makes the command of the collector's Pod end early, as Ctrl-C does. One that has ended is no
// error.
func Interrupt() error {
	text, err := os.ReadFile(pidFile)
	if err != nil {
		return fmt.Errorf("the command has not begun: %w", err)
	}
	pid, err := strconv.Atoi(string(text))
	if err != nil {
		return err
	}
	if err := syscall.Kill(pid, syscall.SIGINT); !errors.Is(err, syscall.ESRCH) {
		return err
	}
	return nil
}

// Pack waits until the command of the collector's Pod has ended, and writes the working directory as a tar
// file compressed by gzip.
func Pack(ctx context.Context, out io.Writer) error {
	for {
		if _, err := os.Stat(exitFile); err == nil {
			break
		}
		if err := pause(ctx, 100*time.Millisecond); err != nil {
			return err
		}
	}
	zipped := gzip.NewWriter(out)
	packed := tar.NewWriter(zipped)
	return errors.Join(packed.AddFS(os.DirFS(".")), packed.Close(), zipped.Close())
}

// A Fetched holds the results of a run.
type Fetched struct {
	Answer []byte // what its command printed
	Exit   int    // its exit code
	Dirs   []string
}

// mostFetched is the largest record that is taken from a cluster, in bytes.
const mostFetched = 4 << 30

// ErrTooLarge is the error of a larger one. [Kubectl.Fetch] adds the command that takes it whole.
var ErrTooLarge = errors.New("the record is too large")

// unpack reads what Pack wrote, at most that many bytes without compression, and puts the records below root. Nothing is
// written outside of it.
func unpack(in io.Reader, root string, most int64) (got Fetched, err error) {
	zipped, err := gzip.NewReader(in)
	if err != nil {
		return got, err
	}
	limited := &io.LimitedReader{R: zipped, N: most + 1}
	defer func() {
		if err != nil && limited.N == 0 { // the tar file broke off because no more was read
			err = ErrTooLarge
		}
	}()
	if err := os.MkdirAll(root, 0o755); err != nil {
		return got, err
	}
	below, err := os.OpenRoot(root)
	if err != nil {
		return got, err
	}
	defer below.Close()
	got.Exit = -1
	packed := tar.NewReader(limited)
	for {
		h, err := packed.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return got, err
		}
		name, record := strings.CutPrefix(h.Name, RunsDir+"/")
		switch {
		case h.Typeflag != tar.TypeReg: // a directory, or the link to the newest run
		case record:
			err = unpackOne(below, name, packed)
			if dir, _, _ := strings.Cut(name, "/"); err == nil {
				got.Dirs = with(got.Dirs, filepath.Join(root, dir))
			}
		case h.Name == answerFile:
			got.Answer, err = io.ReadAll(packed)
		case h.Name == exitFile:
			var text []byte
			if text, err = io.ReadAll(packed); err == nil {
				got.Exit, err = strconv.Atoi(string(text))
			}
		}
		if err != nil {
			return got, fmt.Errorf("%s: %w", h.Name, err)
		}
	}
	if got.Exit < 0 {
		return got, errors.New("it broke off")
	}
	return got, nil
}

// unpackOne writes a file below a directory.
func unpackOne(below *os.Root, name string, in io.Reader) error {
	if err := below.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return err
	}
	f, err := below.Create(name)
	if err != nil {
		return err
	}
	_, err = io.Copy(f, in)
	return errors.Join(err, f.Close())
}
