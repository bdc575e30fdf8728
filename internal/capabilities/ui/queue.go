package ui

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"syscall"
	"time"

	"schedlab/internal/capabilities/session"
)

// A job is a comparison that a page has started or queued. ID, request and Command never change; Server.mu guards the
// other fields.
type job struct {
	ID       int
	request  session.Compare
	Command  string // what somebody would type to run the same
	State    state
	Progress session.Progress
	Notes    []string // sentences about the run
	Said     []string // its other output, which tells why it failed
	began    time.Time
	cancel   context.CancelFunc
}

// A state is how a job stands, in a word.
type state string

const (
	waiting  state = "queued"
	running  state = "running"
	stopping state = "stopping"
	stopped  state = "stopped"
	failed   state = "failed"
	done     state = "done"
)

// ends are the states by the exit code of a comparison; any other code is failed.
var ends = map[int]state{
	session.Done: done, session.Mistake: "refused", session.NotKept: "done: an expectation is not kept",
	session.NoAnswer: "done: nothing could be judged", session.Interrupted: stopped,
}

const (
	maxQueued = 20 // jobs that wait
	keepEnded = 10 // jobs that have ended and are still shown
	maxLines  = 50 // lines that a job says; the oldest are dropped
	maxLine   = 1 << 20
)

// Open reports whether the job may still be stopped.
func (j *job) Open() bool { return j.State == waiting || j.State == running }

// running reports whether its comparison goes on.
func (j *job) running() bool { return j.State == running || j.State == stopping }

// Ended reports whether nothing more will come.
func (j *job) Ended() bool { return !j.Open() && j.State != stopping }

// Run is the name of the job's record, "" if there is none yet.
func (j *job) Run() string {
	if j.Progress.Record == "" {
		return ""
	}
	return filepath.Base(j.Progress.Record)
}

// add puts a comparison into the queue. It reports false if the queue is full.
func (s *Server) add(r session.Compare) (added bool) {
	s.change(func() {
		j := &job{ID: 1, request: r, Command: s.typed(r), State: waiting}
		queued := 0
		for _, other := range s.jobs {
			j.ID = other.ID + 1
			if other.State == waiting {
				queued++
			}
		}
		if added = queued < maxQueued; added {
			s.jobs = append(s.jobs, j)
		}
	})
	return added
}

// end stops a job. One that waits never begins; one that runs judges and records its blocks so far.
func (s *Server) end(id int) {
	s.change(func() {
		i := slices.IndexFunc(s.jobs, func(j *job) bool { return j.ID == id && j.Open() })
		switch {
		case i < 0: // it ended by itself meanwhile
		case s.jobs[i].State == waiting:
			s.jobs[i].State = stopped
		default:
			s.jobs[i].State = stopping
			s.jobs[i].cancel()
		}
	})
}

// work runs the jobs, one after the other, until ctx ends. The kernel stops a comparison when the thread
// that started it ends, so this goroutine keeps its thread.
func (s *Server) work(ctx context.Context) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	for ctx.Err() == nil {
		s.mu.Lock()
		changed, i := s.changed, slices.IndexFunc(s.jobs, func(j *job) bool { return j.State == waiting })
		var next *job
		if i >= 0 {
			next = s.jobs[i]
		}
		s.mu.Unlock()
		if next != nil {
			s.run(ctx, next)
			continue
		}
		select {
		case <-ctx.Done():
		case <-changed:
		}
	}
}

// run runs one job to its end. When ctx ends, and when somebody stops it, it gets the signal of Ctrl-C.
func (s *Server) run(ctx context.Context, j *job) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	begun := false
	s.change(func() {
		if begun = j.State == waiting && ctx.Err() == nil; begun {
			j.State, j.began, j.cancel = running, time.Now(), cancel
		}
	})
	if !begun {
		return
	}
	order, err := s.order(j)
	if err != nil {
		s.change(func() { j.State, j.Said = failed, []string{err.Error()} })
		return
	}
	cmd := exec.CommandContext(ctx, s.Carry[0], s.Carry[1:]...)
	cmd.Stdin = bytes.NewReader(order)
	cmd.Stderr = &lines{take: func(line []byte) { s.take(j, line) }}
	cmd.Cancel, cmd.WaitDelay = func() error { return cmd.Process.Signal(os.Interrupt) }, stopWithin
	// A separate process group: Ctrl-C on the terminal reaches it once, by us. If this program is killed,
	// the comparison can write no more progress, and stops as on Ctrl-C.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	err = cmd.Run()
	s.change(func() {
		s.ends++
		j.State = failed
		if end, known := ends[cmd.ProcessState.ExitCode()]; known {
			j.State = end
		} else if err != nil {
			j.Said = append(j.Said, err.Error())
		}
		ended := 0
		for i, j := range slices.Backward(s.jobs) {
			if j.Ended() {
				if ended++; ended > keepEnded {
					s.jobs = slices.Delete(s.jobs, i, i+1)
				}
			}
		}
	})
}

// order is a job for its process. The result is in the record, so that nothing reads stdout.
func (s *Server) order(j *job) ([]byte, error) {
	r := j.request
	r.Out, r.Command = s.Root, j.Command
	return session.Order{Compare: &r, Output: "text", Progress: "json"}.JSON()
}

// take keeps a line that a job wrote. The newest progress replaces the one before.
func (s *Server) take(j *job, line []byte) {
	var p session.Progress
	known := json.Unmarshal(line, &p) == nil
	s.change(func() {
		switch {
		case !known:
			j.Said = newest(append(j.Said, string(line)))
		case p.Note != "":
			j.Notes = newest(append(j.Notes, p.Note))
		default:
			j.Progress = p
		}
	})
}

// newest drops the oldest of too many lines.
func newest(all []string) []string { return all[max(len(all)-maxLines, 0):] }

// change changes jobs, and lets browsers know.
func (s *Server) change(f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f()
	s.drawn = ""
	close(s.changed)
	s.changed = make(chan struct{})
}

// lines is a writer that gives each line to take. What exceeds maxLine bytes of a line is dropped.
type lines struct {
	take func([]byte)
	part []byte
}

func (l *lines) Write(p []byte) (int, error) {
	n := len(p)
	for {
		line, rest, ended := bytes.Cut(p, []byte("\n"))
		l.part = append(l.part, line[:min(len(line), maxLine-len(l.part))]...)
		if !ended {
			return n, nil
		}
		l.take(l.part)
		l.part, p = l.part[:0], rest
	}
}
