package session

import (
	"bytes"
	"encoding/json"
	"io"
	"os"
	"path/filepath"

	"schedlab/internal/shared/record"
)

// askedFile is what was asked of a comparison, in its record.
const askedFile = "request.json"

// keptRequest is the content of askedFile. Compare is a Compare of one scenario, without what only says where it ran.
type keptRequest struct {
	Schema  int             `json:"schema"` // 1
	Compare json.RawMessage `json:"compare"`
}

// keepAsked writes the request into the record of a run of some of its scenarios, so that it can be asked again. It keeps
// nothing of a gate or a search, nor of a run whose record could not be made (dir is nil).
func (c *conduct) keepAsked(dir *record.Dir, scenarios []string) error {
	if c.request == nil || dir == nil {
		return nil
	}
	r := *c.request
	r.Out, r.Cluster, r.WaitIdle, r.Total, r.Resume, r.Scenarios, r.Command = "", "", 0, 0, "", nil, ""
	if !c.Adhoc.given() {
		r.Scenarios = scenarios
	}
	text, err := json.Marshal(r)
	if err != nil {
		return err
	}
	return dir.WriteFile(askedFile, func(w io.Writer) error { return record.WriteJSON(w, keptRequest{1, text}) })
}

// Asked returns the request that a record keeps. A record without one, and one of another version, is an error.
func Asked(dir *record.Dir) (r Compare, err error) {
	var kept keptRequest
	switch there, err := dir.ReadJSON(askedFile, &kept); {
	case err != nil:
		return r, err
	case !there:
		return r, Usagef("the record of run %s does not have its settings: it is no comparison, or of an older version of schedlab", dir.Name())
	}
	d := json.NewDecoder(bytes.NewReader(kept.Compare))
	d.DisallowUnknownFields()
	if err := d.Decode(&r); err != nil {
		return r, Usagef("the settings of run %s cannot be read (%w); they are of another version of schedlab", dir.Name(), err)
	}
	return r, nil
}

// HasAsked reports whether the record in a directory keeps its request.
func HasAsked(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, askedFile))
	return err == nil
}
