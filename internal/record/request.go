package record

import "strconv"

// A Request is one scheduled request and its outcome. Times are nanoseconds from the start of the
// trial's attack, on one monotonic clock. Sent is -1 if the request was never sent. Done is when
// the reply was read completely or the request failed. Response time is Done - Scheduled, lag is
// Sent - Scheduled. A request's index in its trial's requests is its Seq.
type Request struct {
	Scheduled int64
	Sent      int64
	Done      int64
	Bytes     uint32 // response body bytes
	Status    uint16 // HTTP status, 0 without a reply
	Outcome   Outcome
	Iters     uint32 // CPU demand, calibrated iterations
	Sleep     int64  // blocking demand, nanoseconds
}

// An Outcome tells how a request ended.
type Outcome uint8

// The outcomes. Every scheduled request ends in exactly one.
const (
	Answered Outcome = iota // a complete reply, whatever its status
	TimedOut
	Refused // the connection could not be opened
	Reset   // the connection broke before the reply was complete
	Cut     // still under way when the attack was stopped
	outcomes
)

// Good reports whether r got a successful reply (2xx or 3xx).
func (r Request) Good() bool { return r.Outcome == Answered && r.Status >= 200 && r.Status < 400 }

// End returns how r ended: "status 200", or the outcome if there was no reply.
func (r Request) End() string {
	if r.Outcome == Answered {
		return "status " + strconv.Itoa(int(r.Status))
	}
	return r.Outcome.String()
}

// String returns the outcome in words, such as "timed out".
func (o Outcome) String() string {
	if o < outcomes {
		return [...]string{"answered", "timed out", "refused", "reset", "cut off"}[o]
	}
	return "unknown outcome"
}
