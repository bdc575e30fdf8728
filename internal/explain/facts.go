package explain

import "schedlab/internal/record"

// Sentences for the causes, and for the reasons why there is none.
var (
	causeWorkers    = record.Sentence("cause-workers", `its {{plural .Values.workers "worker"}} are in use for {{percent .Values.used}} of the time{{with .Values.cpu}}, and the CPUs for {{percent .}}{{end}}: too few workers, requests wait for one`)
	causeInline     = record.Sentence("cause-inline", `its handlers wait on the event loop that reads, so that all its other connections wait too, while {{with .Values.cpu}}{{percent .}}{{else}}little{{end}} of the CPU is in use`)
	causeThreads    = record.Sentence("cause-threads", `its goroutines are locked to threads, which the kernel switches {{printf "%.3g" .Values.switches}} times a request ({{printf "%.3g" .Values.switches_faster}} in {{.Baseline}})`)
	causeQueueLock  = record.Sentence("cause-queue-lock", `all its workers take from one queue under one lock: a request waits {{lasts .Values.mutex}} for mutexes`)
	causeHandOff    = record.Sentence("cause-hand-off", `each request is handed to another goroutine and back, while {{with .Values.used}}{{part .}}{{else}}few{{end}} of its workers are in use: the hand-off bounds nothing and takes time`)
	causeOwnQueues  = record.Sentence("cause-own-queues", `a queue of a worker's own is not served by others: requests wait behind a long one while other workers idle`)
	causeLock       = record.Sentence("cause-lock", `its requests wait for a lock: {{lasts .Values.mutex}} each, {{lasts .Values.mutex_faster}} in {{.Baseline}}`)
	causeGC         = record.Sentence("cause-gc", `the garbage collector takes {{percent .Values.gc}} of its CPU time ({{percent .Values.gc_faster}} in {{.Baseline}})`)
	causeBacklog    = record.Sentence("cause-backlog", `its accept queue is too short: in a window {{count .Values.overflows}} connections found it full and were tried again a second later`)
	causeUneven     = record.Sentence("cause-uneven", `its connections are dealt out unevenly: the fullest listener has {{printf "%.3g" .Values.uneven}} times its share`)
	causeAcceptor   = record.Sentence("cause-acceptor", `connections wait to be accepted by its one acceptor, while {{with .Values.cpu}}{{percent .}}{{else}}not all{{end}} of the CPU is in use`)
	causeBatches    = record.Sentence("cause-batches", `it serves the newest first of the connections that a poll finds ready: {{percent .Values.overtaken}} of its requests are read after one that was sent later ({{percent .Values.overtaken_faster}} in {{.Baseline}})`)
	causeLoad       = record.Sentence("cause-load", `the load sent late, {{lasts .Values.late}} at p99: it was kept from its CPU, and the server is not to blame`)
	causeCost       = record.Sentence("cause-cost", `a request costs it {{lasts .Values.cost}} of CPU time, {{lasts .Values.cost_faster}} in {{.Baseline}}`)
	whyKnobUnsure   = record.Sentence("why-knob-unsure", `in these blocks the change may be chance ({{lasts .Values.low}} to {{lasts .Values.high}}); explain again, with a longer --budget`)
	whyKnobLittle   = record.Sentence("why-knob-little", `that took away {{lasts .Values.fell}} of {{lasts .Values.longer}}, less than half`)
	whyControlMoves = record.Sentence("why-control-moves", `the control changed it too ({{lasts .Values.low}} to {{lasts .Values.high}})`)
	whyNotApart     = record.Sentence("why-not-apart", `in these blocks the difference between both may be chance ({{lasts .Values.low}} to {{lasts .Values.high}}); explain again, with a longer --budget`)
	hardlyDiffer    = record.Sentence("hardly-differ", `the two hardly differ, neither on average nor in their slowest requests nor in what they lose`)
	noRuleApplies   = record.Sentence("no-rule-applies", `no rule fits what the stamps and the witnesses show`)
)
