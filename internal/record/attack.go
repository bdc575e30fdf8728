package record

import "time"

// An Attack is what `attack --output json` prints: one attack on one server,
// summed up. Times are seconds.
type Attack struct {
	Schema   int       `json:"schema"`
	Target   string    `json:"target"`
	Scenario string    `json:"scenario,omitempty"`
	Status   Status    `json:"status"` // complete, or interrupted
	Started  time.Time `json:"started"`
	Seed     uint64    `json:"seed"`
	Loop     string    `json:"loop,omitempty"`   // open or closed
	Engine   string    `json:"engine,omitempty"` // what sent it, where that was chosen
	Arrivals string    `json:"arrivals"`         // as scenarios spell them, or what a closed loop does
	Offered  float64   `json:"offered"`          // requests per second asked for; 0: as many as a closed loop gets
	Timeout  float64   `json:"timeout"`          // seconds
	Duration float64   `json:"duration"`         // seconds asked for

	// Sent is the answered, the Failed and the CutOff. Those of a closed loop are
	// the ones that ended in its measured time, and what its end cut off.
	Scheduled int            `json:"scheduled"` // requests
	Sent      int            `json:"sent"`
	Failed    int            `json:"failed"`   // sent, and ended without a reply
	CutOff    int            `json:"cut_off"`  // sent, and under way when the attack ended
	Good      int            `json:"good"`     // replies 2xx and 3xx
	Outcomes  map[string]int `json:"outcomes"` // sent requests by how they ended
	Statuses  map[uint16]int `json:"statuses"` // replies by status
	Bytes     uint64         `json:"bytes"`    // of response bodies
	SentRate  float64        `json:"sent_rate"`
	// Goodput is the good replies per second from the start to the last good one, and
	// over all the time of sending at the least. What failed is in no time: to wait for
	// a timeout makes no server slower. An overloaded one that goes on answering when
	// the sending is over is given that time, so it is not credited with more than it did.
	Goodput float64 `json:"goodput"`

	// Response counts from the scheduled time, over every request sent; one
	// without a reply counts as the timeout at least, so that a server cannot
	// look faster by refusing, and one cut off with what it had waited.
	// GoodResponse is over the good replies alone. Lag is the sending's lateness,
	// Connect from there until the request had an open connection, waiting for one
	// that was free or opening one, and Service from its writing to its end.
	Response     Quantiles `json:"response"`
	GoodResponse Quantiles `json:"good_response"`
	Lag          Quantiles `json:"lag"`
	Connect      Quantiles `json:"connect"`
	Service      Quantiles `json:"service"`
	Waited       int       `json:"waited"` // requests that found no kept connection free

	Connections int     `json:"connections"` // kept ones asked for; 0 when each request opened its own or as many as needed
	Dialled     uint64  `json:"dialled"`
	Asked       int     `json:"asked_connections"`   // kept ones that were given a request
	Starved     int     `json:"starved_connections"` // of those, without an answer
	Jain        float64 `json:"jain"`                // of the answers on those asked; 0 when not applicable
	FirstReply  float64 `json:"first_reply"`         // slowest first reply of a kept connection
	FirstError  float64 `json:"first_error"`         // when the first request failed, -1 for none
	Doubts      []Fact  `json:"doubts"`

	Idle      *IdleConns `json:"idle,omitempty"`
	Sessions  *Sessions  `json:"sessions,omitempty"`
	Generator *Generator `json:"generator,omitempty"`
}

// Paced reports whether the requests had a schedule, so that there is a lag.
func (a *Attack) Paced() bool { return a.Loop != "closed" || a.Offered > 0 }

// IdleConns are connections that were asked once and kept open beside an attack.
type IdleConns struct {
	Asked     int     `json:"asked_for"`
	Opened    int     `json:"opened"`
	Answered  int     `json:"answered"`
	Lost      int     `json:"lost"`       // that ended before the attack did
	FirstLost float64 `json:"first_lost"` // from the attack's start; below 0 before it
}

// Sessions are runs of requests on one connection each.
type Sessions struct {
	Complete int       `json:"complete"`
	Broken   int       `json:"broken"` // their connection ended before the last answer
	Good     int       `json:"good"`   // requests of both, by whether the reply was good
	Failed   int       `json:"failed"`
	Duration Quantiles `json:"duration"` // of the complete ones
}

// A Generator is what the load did itself, so that a delay of its own is not
// taken for the server's.
type Generator struct {
	Planned      int     `json:"planned"`        // requests of the schedule; 0 without one
	Rest         string  `json:"rest,omitempty"` // what the engine spin did between requests: spins, waits, or waits, goes first
	CPU          float64 `json:"cpu"`
	Busy         float64 `json:"busy"` // ratio of what its threads could have used
	GCs          uint64  `json:"gcs"`
	Paused       float64 `json:"gc_paused"`
	LongestPause float64 `json:"gc_longest_pause"`
	LongestLag   float64 `json:"longest_lag"`
	LagAt        float64 `json:"longest_lag_at"`
	LongestGap   float64 `json:"longest_gap,omitempty"` // between two looks of the engine spin for what is due or has come
	Away         float64 `json:"away,omitempty"`        // for which it had nothing to do and was kept from its CPU

	ReadLate *ReadLate `json:"read_late,omitempty"` // nil: not audited
}

// Quantiles of one time, in seconds, from an HDR histogram of three digits. A
// quantile q of fewer than 10/(1-q) of them is no evidence.
type Quantiles struct {
	Count int64   `json:"count"`
	Mean  float64 `json:"mean"`
	P50   float64 `json:"p50"`
	P90   float64 `json:"p90"`
	P99   float64 `json:"p99"`
	P999  float64 `json:"p999"`
	Max   float64 `json:"max"`
}

// Quantiles reads the usual ones; all zero when h is empty.
func (h *Histogram) Quantiles() Quantiles {
	if h.Count() == 0 {
		return Quantiles{}
	}
	at := func(q float64) float64 { return h.Quantile(q).Seconds() }
	return Quantiles{h.Count(), h.hdr.Mean() / 1e9, at(.5), at(.9), at(.99), at(.999), at(1)}
}
