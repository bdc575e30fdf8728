package model_test

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"syscall"
	"testing"

	"schedlab/internal/model"
)

// refusing are the statuses that refuse a request for what it is; 404 is not
// among them, so that the request sent behind is told from it.
var refusing = []int{400, 405, 408, 413, 414, 431, 501, 505}

// afterwards follows every hostile request: nobody may answer it, unless what
// came before was rightly served and the connection kept.
const afterwards = "GET /absent HTTP/1.1\r\nHost: test\r\nConnection: close\r\n\r\n"

// sendHostile sends the request and another behind it, and says how that ended.
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
// request smuggled behind it reaches nobody, and the next client is served.
func TestHostileRequests(t *testing.T) {
	eachMode(t, func(t *testing.T, mode model.Mode) {
		s := start(t, mode)
		for _, tc := range hostileRequests() {
			if _, err := tc.send(s.dial()); err != nil {
				t.Errorf("%s (%s): %v", tc.name, tc.rfc, err)
			}
			if a, err := s.dial().ask(getClose("/plaintext")); err != nil || a.Status != 200 {
				t.Fatalf("%s: the next request: got %d %v, want 200", tc.name, a.Status, err)
			}
		}
		s.open(0)
	})
}
