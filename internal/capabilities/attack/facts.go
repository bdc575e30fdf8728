package attack

import (
	"time"

	"schedlab/internal/shared/fact"
)

// A starvation counts the connections that asked, and among them those that never got an answer.
type starvation struct{ Starved, Asked, Served int }

// A losses counts the requests that were scheduled, and among them those that got no reply.
type losses struct{ Lost, Scheduled int }

// A crowd has the number of requests that waited for a free connection, and the ratio of their time spent waiting for it.
type crowd struct {
	Waited, Sent int
	Share        float64
}

// A miss has the rate that was wanted and the rate that was sent, per second.
type miss struct {
	Wanted, Sent float64
	Loop         string // the load's
}

// A pause is how late the generator sent the request due at a time.
type pause struct{ At, Late time.Duration }

// Cut are the requests under way when the attack was stopped.
type Cut struct{ Requests int }

// What the other doubts tell.
type (
	failures   struct{ Failed int }        // replies
	lateness   struct{ Lag time.Duration } // p99
	exhaustion struct{ Connections int }   // that could not be opened
	shortage   struct{ Sent, Needed int }  // requests
	share      struct{ Share float64 }     // ratio of the time
	sender     struct {
		Engine             string
		Opened, Handshakes int           // connections of the whole load, and TLS handshakes
		TLS, HTTP2         bool          // what it speaks
		P50, P99           time.Duration // that the load itself adds to each time; 0 if it is not known
		Rate               float64       // at which that was measured
	}
	idleness struct{ Asked, Answered, Lost int } // connections that were to be idle during the load
)

// Doubts about an attack.
var (
	attackStarved    = fact.New[starvation]("attack-starved", 0, `{{count .Starved}} of {{count .Asked}} connections starved: they waited for an answer in vain. If a worker of the server keeps its connection (mode pool), start it with --workers {{count .Asked}} or --mode pool-requeue, or send over {{count .Served}} (-c)`)
	Lost             = fact.New[losses]("attack-lost", 0, `{{count .Lost}} of {{count .Scheduled}} requests got no reply; each counts with the time until it failed, so a server that refuses at once looks fast`)
	attackFailed     = fact.New[failures]("attack-failed", 0, `{{count .Failed}} replies were errors; the response times include them`)
	attackLate       = fact.New[lateness]("attack-late", 0, `the generator was late: lag p99 {{millisf "%.3g" .Lag}}; it is in every response time, so give the load a CPU of its own`)
	attackExhausted  = fact.New[exhaustion]("attack-exhausted", 0, `{{plural .Connections "connection"}} could not be opened for want of local ports or descriptors: the generator's limit, not the server's`)
	attackShort      = fact.New[shortage]("attack-short", 0, `too few requests for p99: {{count .Sent}} sent, of {{count .Needed}} that it needs`)
	attackCrowded    = fact.New[crowd]("attack-crowded", 0, `{{count .Waited}} of {{count .Sent}} requests waited for a free connection: {{percent .Share}} of their time passed in the client's own queue, which "server and kernel" leaves out; raise --connections (-c) to have them wait at the server`)
	attackRateMissed = fact.New[miss]("attack-rate-missed", 0, `{{count .Wanted}} requests per second were wanted and {{count .Sent}} were sent: {{if eq .Loop "closed"}}its clients waited for answers, so there are too few of them or the server is too slow{{else}}the generator fell behind or was stopped{{end}}`)
	attackStoodStill = fact.New[pause]("attack-stood-still", 0, `the generator stood still: a request due at {{lasts .At}} was sent {{lasts .Late}} late; that is in its response time and is not the server's`)
	attackKeptAway   = fact.New[share]("attack-kept-away", 0, `other programs, or the hypervisor, kept the load from its CPU for {{percent .Share}} of the time`)
	attackAtLimit    = fact.New[share]("attack-at-limit", 0, `the load was at its limit: it had something to do for {{percent .Share}} of the time`)
	attackIdleLost   = fact.New[idleness]("attack-idle-lost", 0, `of {{count .Asked}} idle connections {{count .Answered}} were answered and {{count .Lost}} lost, so not all of them were open during the load`)
	// attackSender is no doubt about the load: it tells by what it was sent.
	attackSender     = fact.New[sender]("attack-sender", 0, `the engine {{.Engine}} (spin speaks HTTP/1.1 without TLS only), {{if .HTTP2}}HTTP/2{{else}}HTTP/1.1{{end}}{{if .TLS}} over TLS{{end}}: {{plural .Opened "connection"}} opened{{if .TLS}} with {{plural .Handshakes "TLS handshake"}}{{end}}{{if .P50}}; with a server that does nothing it measures p50 {{lasts .P50}} and p99 {{lasts .P99}} at {{per .Rate}}: that much of every time is the load's{{else}}; how much of every time is the load's is not known{{end}}`)
	CutOff           = fact.New[Cut]("attack-cut-off", 0, `{{count .Requests}} requests were under way when the attack was stopped, and are in no figure`)
	attackClosedLoop = fact.Plain("attack-closed-loop", 0, `a closed loop asks less of a slow server: these times leave out what the waiting clients did not send, so no limit should rest on them`)
)
