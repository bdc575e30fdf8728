package record

import (
	"fmt"
	"strconv"
	"strings"

	"schedlab/internal/shared/responses"
)

// AllRequests is the name of the first row in a table of classes: the figures of all requests.
const AllRequests = "all"

// A Class is a named kind of requests. Request.Class is its index in the plan.
type Class struct {
	Name   string
	Share  float64 // of all requests, 0..1
	Judged bool    // p50, p90 and p99 of the arms, and the verdicts on them, are of this class alone
}

const judged = " judged"

// MarshalText returns the class as text, like "light=0.99 judged".
func (c Class) MarshalText() ([]byte, error) {
	text := c.Name + "=" + strconv.FormatFloat(c.Share, 'g', -1, 64)
	if c.Judged {
		text += judged
	}
	return []byte(text), nil
}

// UnmarshalText reads what MarshalText returns.
func (c *Class) UnmarshalText(text []byte) (err error) {
	name, rest, ok := strings.Cut(string(text), "=")
	share, is := strings.CutSuffix(rest, judged)
	if c.Share, err = strconv.ParseFloat(share, 64); err != nil || !ok {
		return fmt.Errorf("%q is no class of requests like light=0.99", text)
	}
	c.Name, c.Judged = name, is
	return nil
}

// ClassFigures are the figures of an arm's requests of one class, or of all: medians over the valid blocks. A quantile is nil
// if a window had too few of these requests for it. Times are seconds.
type ClassFigures struct {
	Class    string            `json:"class"`
	Requests int               `json:"requests"` // scheduled in valid windows
	Errors   int               `json:"errors"`   // of these, without a good reply
	P50      *float64          `json:"p50"`
	P90      *float64          `json:"p90"`
	P99      *float64          `json:"p99"`
	Curve    []responses.Point `json:"curve"` // the distribution over all valid windows
}

// JudgedClass returns the class that the quantiles are about; false if they are about all requests.
func (p Plan) JudgedClass() (c Class, ok bool) {
	for _, c := range p.Classes {
		if c.Judged {
			return c, true
		}
	}
	return c, false
}
