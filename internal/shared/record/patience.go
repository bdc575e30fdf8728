package record

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// MostRetries is the largest number of retries of a request.
const MostRetries = 3

// A Patience tells how long the clients of an open loop wait, and how often they ask again: the settings deadline, retries and
// backoff of a scenario. In the zero Patience a client waits until its timeout, and asks once. A record has it as text, in words
// like deadline=1s retries=2 backoff=100ms.
type Patience struct {
	Deadline Span // of a request, from its scheduled time; 0: none
	Retries  int
	Backoff  Span // from a failure to the next attempt
}

// Impatient reports whether requests have a deadline. Goodput then ranks the servers, because only answered requests have times.
func (c Clients) Impatient() bool { return c.Patience.Deadline.Duration > 0 }

// String returns the settings that are not zero, as words KEY=VALUE.
func (p Patience) String() string {
	var words []string
	if p.Deadline.Duration > 0 {
		words = append(words, "deadline="+p.Deadline.Duration.String())
	}
	if p.Retries > 0 {
		words = append(words, "retries="+strconv.Itoa(p.Retries), "backoff="+p.Backoff.Duration.String())
	}
	return strings.Join(words, " ")
}

// MarshalText writes what String returns.
func (p Patience) MarshalText() ([]byte, error) { return []byte(p.String()), nil }

// UnmarshalText reads what String returns.
func (p *Patience) UnmarshalText(text []byte) (err error) {
	*p = Patience{}
	for word := range strings.FieldsSeq(string(text)) {
		key, value, _ := strings.Cut(word, "=")
		switch key {
		case "deadline":
			p.Deadline.Duration, err = time.ParseDuration(value)
		case "backoff":
			p.Backoff.Duration, err = time.ParseDuration(value)
		case "retries":
			p.Retries, err = strconv.Atoi(value)
		default:
			err = fmt.Errorf("%q is none of the settings deadline, retries and backoff", key)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
