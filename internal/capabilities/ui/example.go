package ui

import (
	"bytes"
	"compress/gzip"
	_ "embed"
	"encoding/json"
	"fmt"
	"net/http"
	"sync"

	"schedlab/internal/measuring/report"
	"schedlab/internal/measuring/report/document"
	"schedlab/internal/measuring/report/say"
	"schedlab/internal/shared/record"
)

// exampleRun is run.json of the frozen record "compare": what the first page shows where there is no run yet.
//
//go:embed example.json.gz
var exampleRun []byte

// An example is a report that is marked as an example, and the drawings that the first page shows of it.
type example struct {
	document.Document
	Drawings []document.Part
}

// theExample reads the example, once.
var theExample = sync.OnceValues(func() (none example, err error) {
	unpacked, err := gzip.NewReader(bytes.NewReader(exampleRun))
	if err != nil {
		return none, err
	}
	var run record.Run
	if err := json.NewDecoder(unpacked).Decode(&run); err != nil {
		return none, err
	}
	page := report.Page(run.Result)
	page.State = fmt.Sprintf("An example, and no run of yours: measured on %s on another machine (%s, %d CPUs).", run.Started.Format("2006-01-02"), run.Env.CPU, run.Env.CPUs)
	page.Around = []document.Anchor{{Text: "All runs", Address: "/"}}
	drawings, _ := report.Together([]report.Labelled{{Label: "example", Result: run.Result}})
	return example{page, drawings}, nil
})

// Example returns what the first page shows where there is no run yet.
func (list) Example() (example, error) { return theExample() }

// example writes the report of the example.
func (s *Server) example(w http.ResponseWriter, _ *http.Request) {
	e, err := theExample()
	var b bytes.Buffer
	if err == nil {
		err = say.HTML(&b, e.Document)
	}
	if err != nil {
		s.refuse(w, http.StatusInternalServerError, err.Error())
		return
	}
	writeReport(w, b.Bytes())
}

// writeReport writes a report, which runs as a site of its own.
func writeReport(w http.ResponseWriter, text []byte) {
	w.Header().Set("Content-Security-Policy", reportPolicy)
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Write(text)
}
