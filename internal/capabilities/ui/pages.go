package ui

import (
	"bytes"
	"embed"
	"fmt"
	"html/template"
	"net/http"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"schedlab/internal/capabilities/runs"
	"schedlab/internal/capabilities/session"
	"schedlab/internal/measuring/report"
	"schedlab/internal/measuring/report/document"
	"schedlab/internal/measuring/report/say"
	"schedlab/internal/shared/record"
)

// The templates: form.html is the form with its plan, list.html the list of runs, and pages.html the rest.
//
//go:embed pages.html form.html list.html
var sources embed.FS

var pages = template.Must(template.New("ui").Funcs(template.FuncMap{
	"megabytes": runs.Megabytes, "percent": func(ratio float64) string { return say.Percent("%.1f", ratio) },
	"part": document.Fragment,
	"diff": runs.Diff, "most": func() int { return report.MostTogether },
	"dict": dict, "asked": session.HasAsked,
	"word": word, "chips": chips,
	"span": func(seconds float64) time.Duration { return record.Duration(seconds).Round(time.Second) },
}).ParseFS(sources, "*.html"))

// dict gives a template several values, by name.
func dict(pairs ...any) map[string]any {
	values := map[string]any{}
	for i := 0; i+1 < len(pairs); i += 2 {
		values[pairs[i].(string)] = pairs[i+1]
	}
	return values
}

// A page is what the templates are filled with.
type page struct {
	*Server
	Title   string
	Token   string // of the forms
	Live    template.HTML
	Form    form
	Problem string // why a page cannot be shown
	Jobs    jobList
	List    list

	Beside   []beside // runs side by side
	Drawings []document.Part
}

// show writes a page, or what went wrong with it.
func (s *Server) show(w http.ResponseWriter, status int, name string, p page) {
	p.Server, p.Token = s, s.action
	var b bytes.Buffer
	if err := pages.ExecuteTemplate(&b, name, p); err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(status)
	w.Write([]byte(document.Harmless(b.String())))
}

// refuse writes a page that says why there is nothing else.
func (s *Server) refuse(w http.ResponseWriter, status int, why string) {
	s.show(w, status, "refused", page{Title: http.StatusText(status), Problem: why})
}

// first writes the first page with a form. That is no error, also where the form has a mistake: browsers log errors.
func (s *Server) first(w http.ResponseWriter, f form) {
	l, err := s.list()
	if err != nil {
		s.refuse(w, http.StatusInternalServerError, err.Error())
		return
	}
	p := page{Title: "schedlab", Form: f, List: l}
	s.mu.Lock()
	p.Live, p.Jobs = s.live(), s.jobList()
	s.mu.Unlock()
	s.show(w, http.StatusOK, "home", p)
}

// live draws the job that runs, or ended last, as parts of the page that change. s.mu is held.
func (s *Server) live() template.HTML {
	var now *job // the job that runs, or else the one that ended last
	for _, j := range slices.Backward(s.jobs) {
		if j.State != waiting && (now == nil || j.running()) {
			now = j
		}
	}
	var figures document.Table
	var verdicts []document.Part
	if now != nil {
		figures, verdicts = figuresOf(now.Progress)
	}
	return drawn(part{"live", map[string]any{"Now": now, "Figures": figures, "Verdicts": verdicts, "Token": s.action}})
}

// events tells a browser of the jobs, now and at each change. It sends the newest state only, so a slow
// browser misses some states. A browser that does not read is dropped.
func (s *Server) events(w http.ResponseWriter, r *http.Request) {
	select {
	case s.streams <- struct{}{}:
		defer func() { <-s.streams }()
	default:
		http.Error(w, "too many pages watch already; close some and reload", http.StatusServiceUnavailable)
		return
	}
	conn := http.NewResponseController(w)
	if err := conn.SetReadDeadline(time.Time{}); err != nil { // a browser sends nothing more
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	told := -1
	for {
		text, ends, changed := s.event()
		if ends != told { // the list of runs is long, and changes only when one has ended
			if l, err := s.list(); err == nil {
				text += event("<table>" + drawn(part{"runs", l}) + "</table>" + drawn(part{"total", l}))
			}
			told = ends
		}
		if conn.SetWriteDeadline(time.Now().Add(5*time.Second)) != nil {
			return
		}
		if _, err := w.Write([]byte(text)); err != nil || conn.Flush() != nil {
			return
		}
		select {
		case <-changed:
		case <-r.Context().Done():
			return
		}
	}
}

// event returns the jobs as an event, drawn once for all browsers, the number of runs that have ended, and a channel that closes when
// something changes.
func (s *Server) event() (text string, ends int, changed <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.drawn == "" {
		s.drawn = event(s.live() + "<table>" + drawn(part{"jobs", s.jobList()}) + "</table>")
	}
	return s.drawn, s.ends, s.changed
}

// event returns parts of the page as an event for browsers.
func event(parts template.HTML) string {
	return "data: " + strings.ReplaceAll(string(parts), "\n", "\ndata: ") + "\n\n"
}

func (s *Server) stop(w http.ResponseWriter, r *http.Request) {
	id, _ := strconv.Atoi(r.PostForm.Get("job")) // 0 is no job
	s.end(id)
	http.Redirect(w, r, "/#now", http.StatusSeeOther)
}

// open opens a run if one of that name is listed; nothing else is ever opened. Without ok the request is answered with the reason.
func (s *Server) open(w http.ResponseWriter, name string) (dir *record.Dir, run record.Run, ok bool) {
	if names, err := record.Runs(s.Root); err != nil || !slices.Contains(names, name) {
		s.refuse(w, http.StatusNotFound, "There is no such run.")
		return nil, run, false
	}
	dir, run, err := record.Open(name, s.Root)
	if err != nil {
		s.refuse(w, http.StatusInternalServerError, err.Error())
		return nil, run, false
	}
	return dir, run, true
}

// report writes the report of a run, or its explanation. A run without a result was killed and is judged
// now, which takes CPU time, so not while another is measured.
func (s *Server) report(w http.ResponseWriter, r *http.Request) {
	name := r.PathValue("name")
	dir, run, ok := s.open(w, name)
	if !ok {
		return
	}
	result := run.Result
	var err error
	if result == nil {
		if s.busy() {
			s.refuse(w, http.StatusConflict, "This run has no result yet, and judging it would disturb the one that is measured now. Come back when that has ended.")
			return
		}
		result, err = session.Judge(dir, run)
	}
	if err == nil {
		err = session.Attach(dir, result)
	}
	if err != nil {
		s.refuse(w, http.StatusInternalServerError, err.Error())
		return
	}
	page := ownPage(result, path.Base(r.URL.Path))
	if strings.HasSuffix(r.URL.Path, "/") { // the report is the page of the run itself
		page = new(report.Page(result))
	}
	if page == nil {
		s.refuse(w, http.StatusNotFound, "This run is not explained: schedlab explain "+name)
		return
	}
	page.Around = s.around(name)
	var b bytes.Buffer
	if err := say.HTML(&b, *page); err != nil {
		s.refuse(w, http.StatusInternalServerError, err.Error())
		return
	}
	writeReport(w, b.Bytes())
}

// around returns the way from a run's report to the list, and to the runs before and after it.
func (s *Server) around(name string) []document.Anchor {
	all := []document.Anchor{{Text: "All runs", Address: "/#run-" + name}}
	if session.HasAsked(s.read(name).Dir) {
		all = append(all, document.Anchor{Text: "Run again with changes", Address: "/runs/" + name + "/again#h-start"})
	}
	names, _ := record.Runs(s.Root) // the newest first; it was read a moment ago
	i := slices.Index(names, name)
	if i >= 0 && i+1 < len(names) {
		all = append(all, document.Anchor{Text: "Older: " + names[i+1], Address: "/runs/" + names[i+1] + "/"})
	}
	if i > 0 {
		all = append(all, document.Anchor{Text: "Newer: " + names[i-1], Address: "/runs/" + names[i-1] + "/"})
	}
	return all
}

// ownPage returns the page that an attachment of the result has in this file; nil if none has.
func ownPage(r record.Result, file string) *document.Document {
	if r == nil {
		return nil
	}
	for _, a := range r.Head().Attached {
		if own, ok := a.(report.Reason); ok {
			if name, page := own.Page(); name == file {
				return &page
			}
		}
	}
	return nil
}

// busy reports whether a comparison runs now.
func (s *Server) busy() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.ContainsFunc(s.jobs, (*job).running)
}

// A beside is one of the runs on the page that compares several.
type beside struct {
	runs.Run
	Label   string // by which the drawings name it
	Figures []document.Part
}

// beside writes the page that compares several runs: their verdicts and response times in one drawing each, a column for each run, and in
// what the first differs from the others.
func (s *Server) beside(w http.ResponseWriter, r *http.Request) {
	names := slices.Compact(slices.Sorted(slices.Values(r.URL.Query()["run"]))) // a name begins with the time: the oldest first
	if len(names) < 2 || len(names) > report.MostTogether {
		s.refuse(w, http.StatusBadRequest, fmt.Sprintf("Choose 2 to %d runs of the list.", report.MostTogether))
		return
	}
	p := page{Title: fmt.Sprintf("%d runs side by side", len(names))}
	var labelled []report.Labelled
	for i, name := range names {
		_, run, ok := s.open(w, name) // with its curves, which s.read leaves out
		if !ok {
			return
		}
		if run.Result == nil {
			s.refuse(w, http.StatusConflict, name+" has no result.")
			return
		}
		p.Beside = append(p.Beside, beside{Run: s.read(name), Label: string(rune('A' + i))})
		labelled = append(labelled, report.Labelled{Label: p.Beside[i].Label, Result: run.Result})
	}
	drawings, figures := report.Together(labelled)
	p.Drawings = drawings
	for i := range figures {
		p.Beside[i].Figures = figures[i]
	}
	s.show(w, http.StatusOK, "beside", p)
}
