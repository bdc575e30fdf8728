package model_test

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"sync/atomic"
	"syscall"
	"testing"

	"schedlab/internal/serving/model"
)

// refusing are the statuses of a refused request. 404 is not among them: it is the answer to
// the request sent after it.
var refusing = []int{400, 405, 408, 413, 414, 431, 501, 505}

// afterwards follows every hostile request. It must not be answered, unless the request before
// was rightly served and the connection kept.
const afterwards = "GET /absent HTTP/1.1\r\nHost: test\r\nConnection: close\r\n\r\n"

// send sends the request and another after it, and says how that ended.
func (tc hostileCase) send(c *client) (outcome string, err error) {
	defer c.Close()
	go io.WriteString(c, tc.raw+afterwards) // the refusal may come before all is written
	a, err := c.read("POST")
	switch {
	case err == io.EOF, errors.Is(err, syscall.ECONNRESET):
		return "closed", nil
	case err != nil:
		return "", fmt.Errorf("got %+v %w, want a refusal or a close", a, err)
	case slices.Contains(refusing, a.Status) && a.field("Connection") == "close":
		outcome = fmt.Sprint(a.Status)
	case tc.served == "":
		return "", fmt.Errorf("got %d with Connection %q, want a refusal and close", a.Status, a.field("Connection"))
	case a.field("Connection") == "close":
		outcome = fmt.Sprintf("%d, closed", a.Status)
	case tc.closes:
		return "", fmt.Errorf("got %d and the connection kept, want it closed", a.Status)
	default:
		outcome = "served"
		if a, err = c.read("GET"); err != nil || a.Status != 404 {
			return "", fmt.Errorf("the request behind: got %d %v, want 404", a.Status, err)
		}
	}
	if _, err := c.in.ReadByte(); err != io.EOF {
		return "", fmt.Errorf("after %s: got %v, want a clean close", outcome, err)
	}
	return outcome, nil
}

// What is malformed, ambiguous or oversized ends in a refusal or a close, the
// request smuggled after it is not served, and the next client is.
// docs/evidence/hostile.md says how each ends.
func TestHostileRequests(t *testing.T) {
	cases := hostileRequests()
	seen := make(outcomes)
	for _, mode := range variants() {
		seen[mode.Name] = make([]string, len(cases))
	}
	var complete atomic.Int64
	t.Cleanup(func() {
		if int(complete.Load()) == len(seen) { // no mode was left out, and none failed
			checkDocument(t, seen)
		}
	})
	eachMode(t, func(t *testing.T, mode model.Mode) {
		s := start(t, mode)
		for i, tc := range cases {
			outcome, err := tc.send(s.dial())
			if err != nil {
				t.Errorf("%s (%s): %v", tc.name, tc.rfc, err)
			}
			seen[mode.Name][i] = outcome
			if a, err := s.dial().ask(getClose("/plaintext")); err != nil || a.Status != 200 {
				t.Fatalf("%s: the next request: got %d %v, want 200", tc.name, a.Status, err)
			}
		}
		s.open(0)
		if !t.Failed() {
			complete.Add(1)
		}
	})
}
