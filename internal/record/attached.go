package record

import (
	"bytes"
	"encoding/json"
	"slices"
)

// An Attachment is what a command found out about a run besides its verdicts, such as why two arms differ. Its type, its
// file in the record and its page are that command's own.
type Attachment interface {
	Key() string // its key in the JSON of a result
}

// Attach adds an attachment, in place of one with the same key.
func (r *Result) Attach(a Attachment) {
	same := func(b Attachment) bool { return a.Key() == b.Key() }
	r.Attached = append(slices.DeleteFunc(slices.Clone(r.Attached), same), a)
}

// withAttached returns the JSON of a result with its attachments at the end.
func withAttached(result []byte, all []Attachment) ([]byte, error) {
	for _, a := range all {
		key, err := json.Marshal(a.Key())
		if err != nil {
			return nil, err
		}
		value, err := marshal(a)
		if err != nil {
			return nil, err
		}
		result = bytes.TrimSuffix(bytes.TrimSpace(result), []byte("}"))
		result = slices.Concat(result, []byte(","), key, []byte(":"), value, []byte("}"))
	}
	return result, nil
}
