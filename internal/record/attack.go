package record

import "time"

// An Attack is what `attack --output json` prints: one open-loop attack on one
// server, summed up. Times are seconds.
type Attack struct {
	Schema   int       `json:"schema"`
	Target   string    `json:"target"`
	Scenario string    `json:"scenario,omitempty"`
	Status   Status    `json:"status"` // complete, or interrupted
	Started  time.Time `json:"started"`
	Seed     uint64    `json:"seed"`
	Arrivals string    `json:"arrivals"` // poisson or constant
	Offered  float64   `json:"offered"`  // requests per second asked for
	Timeout  float64   `json:"timeout"`  // seconds
	Duration float64   `json:"duration"` // seconds asked for

	Scheduled int            `json:"scheduled"` // requests
	Sent      int            `json:"sent"`
	Good      int            `json:"good"`     // replies 2xx and 3xx
	Outcomes  map[string]int `json:"outcomes"` // scheduled requests by how they ended
	Statuses  map[uint16]int `json:"statuses"` // replies by status
	Bytes     uint64         `json:"bytes"`    // of response bodies
	SentRate  float64        `json:"sent_rate"`
	Goodput   float64        `json:"goodput"` // good replies per second, until the last reply

	// Response counts from the scheduled time, over every request sent; one
	// without a reply counts as the timeout at least, so that a server cannot
	// look faster by refusing. GoodResponse is over the good replies alone.
	// Service counts from the sending; Lag is the sending's lateness.
	Response     Quantiles `json:"response"`
	GoodResponse Quantiles `json:"good_response"`
	Service      Quantiles `json:"service"`
	Lag          Quantiles `json:"lag"`

	Connections int     `json:"connections"` // kept ones asked for; 0 when each request opened its own or as many as needed
	Dialled     uint64  `json:"dialled"`
	Starved     int     `json:"starved_connections"`
	Jain        float64 `json:"jain"`        // 0 when not applicable
	FirstReply  float64 `json:"first_reply"` // slowest first reply of a kept connection
	FirstError  float64 `json:"first_error"` // when the first request failed, -1 for none
	Doubts      []Doubt `json:"doubts"`
}

// Quantiles of one time, in seconds, from an HDR histogram of three digits.
type Quantiles struct {
	Mean float64 `json:"mean"`
	P50  float64 `json:"p50"`
	P90  float64 `json:"p90"`
	P99  float64 `json:"p99"`
	P999 float64 `json:"p999"`
	Max  float64 `json:"max"`
}

// Quantiles reads the usual ones; all zero when h is empty.
func (h *Histogram) Quantiles() Quantiles {
	if h.Count() == 0 {
		return Quantiles{}
	}
	at := func(q float64) float64 { return h.Quantile(q).Seconds() }
	return Quantiles{h.hdr.Mean() / 1e9, at(.5), at(.9), at(.99), at(.999), at(1)}
}
