package audit

import "schedlab/internal/record"

// auditTwice words a figure that another figure of the same run contradicts.
const auditTwice = `{{.Names.left}}{{with .Names.of}} of {{.}}{{end}} is {{as .Names.unit .Values.left}}, and {{.Names.right}} makes it {{with .Names.is}}{{.}} {{end}}{{as .Names.unit .Values.right}}`

// What an audit finds; rules has the law and the class of each.
var (
	auditNotAdded      = record.Sentence("audit-not-added", auditTwice)
	auditRateTime      = record.Sentence("audit-rate-time", auditTwice)
	auditBytesTime     = record.Sentence("audit-bytes-time", auditTwice)
	auditOfferedMissed = record.Sentence("audit-offered-missed", `{{per .Values.rate}} of {{per .Values.offered}} offered were done ({{percentf "%.1f" .Values.share}}){{with .Values.missing}}; {{count .}} requests of the plan are missing, and in no time{{end}}`)
	auditDoneAccepted  = record.Sentence("audit-done-accepted", auditTwice)
	auditUnsteady      = record.Sentence("audit-unsteady", auditTwice+`: the tool's samples leave a part of the run out, in which the server did another rate, or none`)
	auditBacklogGrows  = record.Sentence("audit-backlog-grows", `accepted less done grows from {{count .Values.first}} to {{count .Values.last}} over {{count .Values.times}} reports: work comes in faster than it is done`)
	auditLittle        = record.Sentence("audit-little", `{{per .Values.rate}} × {{short .Values.mean}} = {{digits .Values.in_flight}} requests in flight, and {{with .Values.depth}}connections × depth{{else}}the connections{{end}} hold {{count .Values.connections}}; `+
		`no server can do that`+
		`{{if .Values.back_filled}}: with a longest time of {{short .Values.max}} what wrk 4 adds to its histogram makes the mean {{short .Values.back_filled}} at most{{else}} (wrk 4 prints such a mean where it back-fills its histogram){{end}}`)
	auditLittlePlan = record.Sentence("audit-little-plan", `{{per .Values.rate}} × {{short .Values.mean}} = {{digits .Values.in_flight}} requests that wait, more than {{count .Values.connections}} connections hold: `+
		`the others wait in the load tool's plan. The load was more than these connections, or the tool's threads, could carry, so look at the tool before the server`)
	auditBackFilled = record.Sentence("audit-back-filled", `{{per .Values.rate}} × {{short .Values.mean}} = {{digits .Values.in_flight}} requests in flight in {{count .Values.connections}} connections: wrk's habit, not the server's. `+
		`wrk 4 adds times that it did not measure for requests that a slow one held up (stats_correct), so its mean and quantiles are of more requests than were sent`)
	auditDepthUntold       = record.Sentence("audit-depth-untold", `{{per .Values.rate}} × {{short .Values.mean}} = {{digits .Values.in_flight}} requests in flight in {{count .Values.connections}} connections: {{.Names.tool}} does not print how many each may have (h2load -m, k6 http.batch), so say --connections`)
	auditConnectionsUntold = record.Sentence("audit-connections-untold", `{{per .Values.rate}} × {{short .Values.mean}} = {{printf "%.3g" .Values.in_flight}} requests in flight, and {{.Names.tool}} does not print how many there could be: say --connections to have it held to Little's law`)
	auditTwoReports        = record.Sentence("audit-two-reports", `the two reports (lines {{count .Values.line}} and here) are not of one span: {{digits .Values.sum}} s of response times in {{printf "%.3g" .Values.seconds}} s are {{printf "%.3g" .Values.inside}} requests inside the server`+
		`{{with .Values.connections}}, through at most {{count .}} connections at once{{end}}; {{short .Values.server}} in the server against {{short .Values.client}} for its client`+
		`{{with .Values.cycle}}; were all {{count $.Values.opened}} connections open at once, a closed loop would make it {{short .}} whatever the server does{{end}}`)
	auditUtilisation = record.Sentence("audit-utilisation", `{{per .Values.rate}} × {{short .Values.service}} of CPU = {{printf "%.3g" .Values.busy}} cores busy, and there are {{printf "%g" .Values.cores}}: the requests cost less, or the cores are more`)
	auditCoresUntold = record.Sentence("audit-cores-untold", `{{per .Values.rate}} × {{short .Values.service}} of CPU is a load of {{printf "%.3g" .Values.busy}}, so it takes {{plural .Values.needed "core"}}; say --cores to have it judged`)
	auditSpinning    = record.Sentence("audit-spinning", `httperf used {{percent .Values.cpu}} of a CPU at {{per .Values.rate}} ({{digits .Values.in_flight}} in flight): it asks for replies without a pause at any rate. `+
		`That says nothing of the load, and on the server's machine it takes a CPU from the server`)
	auditInverse    = record.Sentence("audit-inverse", `{{count .Values.connections}} in flight / {{per .Values.rate}} = {{short .Values.cycle}}, and the mean is {{short .Values.mean}}: in a closed loop the response time is the rate again, and leaves out what a delay would have cost requests that were not sent (coordinated omission)`)
	auditTurnaround = record.Sentence("audit-turnaround", `{{count .Values.connections}} in flight / {{per .Values.rate}} = {{short .Values.cycle}} for each request{{if eq .Names.loop "unknown"}}, if the loop was closed{{end}}; the mean of {{short .Values.mean}} is {{percent .Values.share}} of it: the rest is the load's own time, or its connections were idle`)
	auditGrowth     = record.Sentence("audit-growth", `connections grew {{count .Values.from}} to {{count .Values.to}}, and the mean {{printf "%.3g" .Values.mean}} times; connections / rate grew {{printf "%.3g" .Values.cycle}} times, which a closed loop's response time does by itself. `+
		`What the server lost is in the rate: {{percentf "%+.1f" .Values.rate}}`)
	auditOrder        = record.Sentence("audit-order", `{{.Names.less}} {{as .Names.unit .Values.less}} is above {{.Names.more}} {{as .Names.unit .Values.more}}{{with .Names.of}}, of {{.}}{{end}}`)
	auditMeanBounds   = record.Sentence("audit-mean-bounds", `the mean{{with .Names.of}} of {{.}}{{end}} is {{as .Names.unit .Values.mean}}; by the quantiles it is {{with .Values.high}}between {{as $.Names.unit $.Values.low}} and {{as $.Names.unit .}}{{else}}at least {{as .Names.unit .Values.low}}{{end}}`)
	auditInterpolated = record.Sentence("audit-interpolated", `the mean is {{short .Values.mean}}, and the quantiles would have it {{with .Values.high}}between {{short $.Values.low}} and {{short .}}{{else}}at least {{short .Values.low}}{{end}}: `+
		`fortio's habit, which interpolates within buckets of -r (1 ms unless set), so its quantiles are no finer`)
	auditSpread    = record.Sentence("audit-spread", `a deviation of {{as .Names.unit .Values.stdev}}{{with .Names.of}} of {{.}}{{end}} with mean {{as .Names.unit .Values.mean}} and max {{as .Names.unit .Values.max}}; it can be {{as .Names.unit .Values.limit}} at most (Bhatia and Davis)`)
	auditTooLong   = record.Sentence("audit-too-long", `the slowest took {{short .Values.max}}, in a run of {{short .Values.seconds}}`)
	auditSum       = record.Sentence("audit-sum", auditTwice)
	auditChange    = record.Sentence("audit-change", `the rate changed by {{percentf "%+.1f" .Values.change}} ({{per .Values.before}} to {{per .Values.rate}}; {{percentf "%+.1f" .Values.whole}} from the first row), and not by {{percentf "%+.1f" .Values.said}}`)
	auditSaidTwice = record.Sentence("audit-said-twice", auditTwice)
	auditFailed    = record.Sentence("audit-failed", `{{count .Values.lost}} of {{count .Values.ended}} requests failed ({{percentf "%.1f" .Values.share}}{{with .Values.read}}; {{count .}} while reading, which is what a server that closes first looks like{{end}}): `+
		`{{if eq .Names.times "all"}}their times are among the others, where a refusal is quick and a timeout is the tool's limit{{else}}times are of the survivors, and above p{{hundredths .Values.known}} nothing is known of all{{end}}`)
	auditStatuses = record.Sentence("audit-statuses", `{{count .Values.bad}} of {{count .Values.requests}} replies ({{percentf "%.1f" .Values.share}}) were not good: a refusal is quick, so neither times nor rate are those of the work`)
	auditDead     = record.Sentence("audit-dead", `{{per .Values.rate}} of what was offered is {{printf "%.3g" .Values.live}} of {{count .Values.connections}} connections at their {{per .Values.pace}} each: about {{count .Values.dead}} waited for an answer that never came, and the times are of the others. `+
		`wrk2 counts a stuck connection again every 2 s, so {{count .Values.timeouts}} timeouts are {{printf "%.3g" .Values.each}} for each of them{{with .Values.looks}}, of {{count .}} looks{{end}}`)
	auditFewerConns = record.Sentence("audit-fewer-connections", `{{count .Values.connections}} connections are printed and {{count .Values.opened}} were opened: wrk gives each of {{count .Values.threads}} threads as many, rounded down`)
	auditBursts     = record.Sentence("audit-bursts", `a thread sent {{per .Values.max}} in a sample, where its share is {{per .Values.share}}: wrk2 paces each connection, and a thread's {{count .Values.each}} go together, within {{short .Values.within}} of every {{short .Values.period}}. `+
		`The queue that they make is in the times`)
	auditCalibration = record.Sentence("audit-calibration", `the threads' calibration has a mean of {{short .Values.calibration}} and the rest {{short .Values.mean}}: wrk2 throws its first {{count .Values.discarded}} s away, so the times are of the {{with .Values.rest}}{{short .}}{{else}}time{{end}} after that, and the run was not steady`)
	auditUneven      = record.Sentence("audit-uneven", `one thread of the load had a mean of {{short .Values.least}} and another {{short .Values.most}} while wrk2 calibrated: they did not meet the same server, so connections are not served alike`)
	auditIdentical   = record.Sentence("audit-identical", `{{count .Values.figures}} figures are those of line {{count .Values.line}} to the last digit: one run quoted twice, and no repeat`)
	auditOneTrial    = record.Sentence("audit-one-trial", `{{count .Values.runs}} runs, and none is named as a repeat of another (run=NAME): how much a repeat would differ is not known, so no difference between two is found`)
	auditWithinNoise = record.Sentence("audit-within-noise", `repeats of one run differ by {{percentf "%.1f" .Values.noise}}, and the {{count .Values.runs}} that are compared by {{percentf "%.1f" .Values.difference}}: no difference was found`)
	auditSameRate    = record.Sentence("audit-same-rate", `{{count .Values.runs}} runs (lines {{.Names.lines}}) did the {{per .Values.offered}} that were offered ({{per .Values.low}} to {{per .Values.high}}): the rate cannot tell them apart`)
	auditOneInFlight = record.Sentence("audit-one-in-flight", `{{count .Values.runs}} runs (lines {{.Names.lines}}) have one request in flight, so no more than one worker can work: means of {{short .Values.low}} to {{short .Values.high}} say nothing of pools`)
	auditApproximate = record.Sentence("audit-approximate", `{{plural .Values.rows "row"}} (lines {{.Names.lines}}) have figures with a tilde: expected or rounded, and not read as measured`)
)
