package ui

import (
	"cmp"
	"errors"
	"html/template"
	"io/fs"
	"slices"
	"strings"
	"time"

	"schedlab/internal/capabilities/runs"
	"schedlab/internal/measuring/report/document"
	"schedlab/internal/shared/record"
)

const (
	shown     = 100 // runs that the first page lists
	mostChips = 6   // of a run: the answer counts more arms than these in words
)

// A list is the recorded runs that the first page shows, the newest first. Total is the number of all.
type list struct {
	Root  string
	Runs  []runs.Run
	Total int
}

// A jobList is the jobs that the list shows above the runs: those without a record, the newest first.
type jobList struct {
	Jobs  []*job
	Token string // of the form that stops one
}

// list reads the newest runs. It leaves out the run of the job that goes on, which has a line as a job.
func (s *Server) list() (list, error) {
	s.mu.Lock()
	began := time.Time{}
	if i := slices.IndexFunc(s.jobs, (*job).running); i >= 0 {
		began = s.jobs[i].began
	}
	s.mu.Unlock()
	names, err := record.Runs(s.Root)
	if err != nil && !errors.Is(err, fs.ErrNotExist) { // no run yet is no mistake
		return list{}, err
	}
	l := list{Root: s.Root, Total: len(names)}
	for _, name := range names[:min(len(names), shown)] {
		r := s.read(name)
		if !began.IsZero() && r.Status == string(record.Running) && !r.Started.Before(began) {
			l.Total--
			continue
		}
		l.Runs = append(l.Runs, r)
	}
	return l, nil
}

// read reads a run. One that has ended is read once.
func (s *Server) read(name string) runs.Run {
	if r, known := s.past.Load(name); known {
		return r.(runs.Run)
	}
	r := runs.Read(s.Root, name)
	if r.Problem == "" && r.Status != string(record.Running) {
		s.past.Store(name, r)
	}
	return r
}

// jobList returns the jobs of the list. s.mu is held.
func (s *Server) jobList() jobList {
	l := jobList{Token: s.action}
	for _, j := range slices.Backward(s.jobs) {
		if !j.Ended() || j.Run() == "" {
			shown := *j // it is drawn when s.mu is free again
			l.Jobs = append(l.Jobs, &shown)
		}
	}
	return l
}

// word is the word of the list for a run's status: that of a job that has ended well, or the record's own.
func word(status string) string {
	if status == string(record.Complete) {
		return string(done)
	}
	return cmp.Or(status, "unreadable")
}

// chips are the words for each arm of a run that has few.
func chips(r runs.Run) []document.Chip {
	if len(r.Chips) > mostChips {
		return nil
	}
	return r.Chips
}

// drawn fills in templates, in this order, each with its value.
func drawn(parts ...part) template.HTML {
	var b strings.Builder
	for _, p := range parts {
		if err := pages.ExecuteTemplate(&b, p.template, p.of); err != nil {
			return template.HTML(template.HTMLEscapeString(err.Error()))
		}
	}
	return template.HTML(document.Harmless(b.String())) // html/template has escaped it
}

// A part is a template and what it is filled with.
type part struct {
	template string
	of       any
}
