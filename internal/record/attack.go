package record

import "time"

// An Attack is the output of `attack --output json`: the summary of one attack on one server.
// Times are seconds.
//
// Target is the URL or the file of targets, as the flag gave it; Scenario is the name of the scenario, if
// one gave the requests. Dialled counts connections opened. SentRate is the rate at which requests were
// really sent, per second: over the whole attack in an open loop, over the measured time in a closed one.
type Attack struct {
	Schema   int       `json:"schema"`
	Target   string    `json:"target"`
	Scenario string    `json:"scenario,omitempty"`
	Status   Status    `json:"status"` // complete, or interrupted
	Started  time.Time `json:"started"`
	Seed     uint64    `json:"seed"`
	Loop     string    `json:"loop,omitempty"`   // open or closed
	Engine   string    `json:"engine,omitempty"` // the engine that sent it, where one was chosen
	Arrivals string    `json:"arrivals"`         // as scenarios write them; for a closed loop a description
	Offered  float64   `json:"offered"`          // requests per second asked for; 0: a closed loop sends at its own rate
	Timeout  float64   `json:"timeout"`          // seconds
	Duration float64   `json:"duration"`         // seconds asked for

	// Sent is the sum of answered requests, Failed and CutOff. In a closed loop it counts the
	// requests that ended in the measured time or were cut off at its end.
	Scheduled int            `json:"scheduled"` // requests
	Sent      int            `json:"sent"`
	Failed    int            `json:"failed"`   // sent, and ended without a reply
	CutOff    int            `json:"cut_off"`  // sent, and under way when the attack ended
	Good      int            `json:"good"`     // replies 2xx and 3xx
	Outcomes  map[string]int `json:"outcomes"` // sent requests by how they ended
	Statuses  map[uint16]int `json:"statuses"` // replies by status
	Bytes     uint64         `json:"bytes"`    // of response bodies
	SentRate  float64        `json:"sent_rate"`
	// Goodput is the good replies per second, from the start to the last good reply but at least
	// over the whole time of sending. The time that failed requests waited is not counted, since
	// waiting for a timeout makes no server slower. An overloaded server that still answers after
	// the sending has stopped is charged for that time, so Goodput is not more than the rate at
	// which it worked.
	Goodput float64 `json:"goodput"`

	// Response counts from the scheduled time, over every request sent. A request without a reply
	// counts as at least the timeout, so a server cannot look faster by refusing. A request that
	// was cut off counts with the time it had waited. GoodResponse is over good replies only. Lag
	// is the lateness of sending. Connect runs from the sending until the request has an open
	// connection, and includes waiting for a free connection or opening one. Service runs from
	// the writing of the request to its end.
	Response     Quantiles `json:"response"`
	GoodResponse Quantiles `json:"good_response"`
	Lag          Quantiles `json:"lag"`
	Connect      Quantiles `json:"connect"`
	Service      Quantiles `json:"service"`
	Waited       int       `json:"waited"` // requests that found no kept connection free

	Connections int     `json:"connections"` // kept connections asked for; 0 if each request opens one, or as needed
	Dialled     uint64  `json:"dialled"`
	Asked       int     `json:"asked_connections"`   // kept connections that were given a request
	Starved     int     `json:"starved_connections"` // Asked connections without a reply
	Jain        float64 `json:"jain"`                // Jain's index of replies over the Asked connections; 0 when not applicable
	FirstReply  float64 `json:"first_reply"`         // slowest first reply of a kept connection
	FirstError  float64 `json:"first_error"`         // when the first request failed, -1 for none
	Doubts      []Fact  `json:"doubts"`

	Idle      *IdleConns `json:"idle,omitempty"`
	Sessions  *Sessions  `json:"sessions,omitempty"`
	Generator *Generator `json:"generator,omitempty"`
}

// Paced reports whether the requests had a schedule. Only then is there a lag.
// An open loop always has a schedule, a closed loop only with a rate.
func (a *Attack) Paced() bool { return a.Loop != "closed" || a.Offered > 0 }

// IdleConns are connections that carry one request and then stay open and idle during an attack.
type IdleConns struct {
	Asked     int     `json:"asked_for"`
	Opened    int     `json:"opened"`
	Answered  int     `json:"answered"`
	Lost      int     `json:"lost"`       // closed, or sent bytes without a request, before the attack ended
	FirstLost float64 `json:"first_lost"` // seconds from the attack's start; below 0: before the start
}

// Sessions are series of requests, each on one connection.
type Sessions struct {
	Complete int       `json:"complete"`
	Broken   int       `json:"broken"` // their connection ended before the last reply
	Good     int       `json:"good"`   // requests of complete and broken sessions, by whether the reply was good
	Failed   int       `json:"failed"`
	Duration Quantiles `json:"duration"` // of the complete ones
}

// A Generator is what the load generator itself did, so that its own delays are not blamed on the
// server. Times are seconds.
// CPU is its CPU time. GCs, Paused and LongestPause are of its own garbage collector. LongestLag is the
// longest lateness of one request, and LagAt the time at which that request was due.
type Generator struct {
	Planned      int     `json:"planned"`        // requests of the schedule; 0 without one
	Rest         string  `json:"rest,omitempty"` // what the engine spin did between requests: spins, waits, or waits, goes first
	CPU          float64 `json:"cpu"`
	Busy         float64 `json:"busy"` // ratio of the time that its threads could have used
	GCs          uint64  `json:"gcs"`
	Paused       float64 `json:"gc_paused"`
	LongestPause float64 `json:"gc_longest_pause"`
	LongestLag   float64 `json:"longest_lag"`
	LagAt        float64 `json:"longest_lag_at"`
	LongestGap   float64 `json:"longest_gap,omitempty"` // between two checks of the engine spin for requests due and replies
	Away         float64 `json:"away,omitempty"`        // time in which it was idle, but kept from its CPU

	ReadLate *ReadLate `json:"read_late,omitempty"` // nil: not audited
}

// Quantiles summarise one time, in seconds, from an HDR histogram of three digits. A quantile q
// needs at least 10/(1-q) requests to be evidence.
// Count is the number of times that were recorded.
type Quantiles struct {
	Count int64   `json:"count"`
	Mean  float64 `json:"mean"`
	P50   float64 `json:"p50"`
	P90   float64 `json:"p90"`
	P99   float64 `json:"p99"`
	P999  float64 `json:"p999"`
	Max   float64 `json:"max"`
}

// Quantiles returns the mean, the usual quantiles and the maximum; all zero when h is empty.
func (h *Histogram) Quantiles() Quantiles {
	if h.Count() == 0 {
		return Quantiles{}
	}
	at := func(q float64) float64 { return h.Quantile(q).Seconds() }
	return Quantiles{h.Count(), h.hdr.Mean() / 1e9, at(.5), at(.9), at(.99), at(.999), at(1)}
}
