package record

import (
	"bytes"
	"cmp"
	"encoding/json"
	"slices"
)

// An Attachment is what a command found out about a run besides its verdicts, such as why two arms differ. Its type, its
// file in the record and its page are that command's own.
type Attachment interface {
	Key() string // its key in the JSON of a result
}

// Attach adds an attachment, in place of one with the same key.
func (c *Common) Attach(a Attachment) {
	same := func(b Attachment) bool { return a.Key() == b.Key() }
	c.Attached = append(slices.DeleteFunc(slices.Clone(c.Attached), same), a)
}

// AsJSON returns the JSON of a result with its attachments at the end. plain is the result as a type that does not write itself.
func (c *Common) AsJSON(plain any) ([]byte, error) {
	result, err := marshal(plain)
	for _, a := range c.Attached {
		key, failed := marshal(a.Key())
		value, failing := marshal(a)
		err = cmp.Or(err, failed, failing)
		result = slices.Concat(bytes.TrimSuffix(bytes.TrimSpace(result), []byte("}")), []byte(","), key, []byte(":"), value, []byte("}"))
	}
	return result, err
}

// marshal returns v as JSON. It escapes no HTML: the encoder of the whole document does if it wants to.
func marshal(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(v)
	return b.Bytes(), err
}
