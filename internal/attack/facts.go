package attack

import "schedlab/internal/record"

// Doubts about an attack.
var (
	attackStarved    = record.Sentence("attack-starved", `{{count .Values.starved}} of {{count .Values.asked}} connections starved: they waited for an answer in vain. If a worker of the server keeps its connection (mode pool), start it with --workers {{count .Values.asked}} or --mode pool-requeue, or send over {{count .Values.served}} (-c)`)
	Lost             = record.Sentence("attack-lost", `{{count .Values.lost}} of {{count .Values.scheduled}} requests got no reply; each counts with the time until it failed, so a server that refuses at once looks fast`)
	attackFailed     = record.Sentence("attack-failed", `{{count .Values.failed}} replies were errors; the response times include them`)
	attackLate       = record.Sentence("attack-late", `the generator was late: lag p99 {{millisf "%.3g" .Values.lag}}; it is in every response time, so give the load a CPU of its own`)
	attackExhausted  = record.Sentence("attack-exhausted", `{{plural .Values.connections "connection"}} could not be opened for want of local ports or descriptors: the generator's limit, not the server's`)
	attackShort      = record.Sentence("attack-short", `too few requests for p99: {{count .Values.sent}} sent, of {{count .Values.needed}} that it needs`)
	attackCrowded    = record.Sentence("attack-crowded", `{{count .Values.waited}} of {{count .Values.sent}} requests waited for a free connection: {{percent .Values.share}} of their time passed in the client's own queue, which "server and kernel" leaves out; raise --connections (-c) to have them wait at the server`)
	attackRateMissed = record.Sentence("attack-rate-missed", `{{count .Values.wanted}} requests per second were wanted and {{count .Values.sent}} were sent: {{if eq .Names.loop "closed"}}its clients waited for answers, so there are too few of them or the server is too slow{{else}}the generator fell behind or was stopped{{end}}`)
	attackStoodStill = record.Sentence("attack-stood-still", `the generator stood still: a request due at {{time .Values.at}} was sent {{time .Values.late}} late; that is in its response time and is not the server's`)
	attackKeptAway   = record.Sentence("attack-kept-away", `other programs, or the hypervisor, kept the load from its CPU for {{percent .Values.share}} of the time`)
	attackAtLimit    = record.Sentence("attack-at-limit", `the load was at its limit: it had something to do for {{percent .Values.share}} of the time`)
	attackIdleLost   = record.Sentence("attack-idle-lost", `of {{count .Values.asked}} idle connections {{count .Values.answered}} were answered and {{count .Values.lost}} lost, so not all of them were open during the load`)
	CutOff           = record.Sentence("attack-cut-off", `{{count .Values.requests}} requests were under way when the attack was stopped, and are in no figure`)
	attackClosedLoop = record.Sentence("attack-closed-loop", `a closed loop asks less of a slow server: these times leave out what the waiting clients did not send, so no limit should rest on them`)
)
