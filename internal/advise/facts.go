package advise

import "schedlab/internal/record"

// Facts about the size of a pool, in groups. First the headlines of `size`: an advice, a table of
// waits, and the two ways in which there is none; sizePools tells for which pools an advice and a
// table hold. Then, without a name, the reasons of sizeHopeless:
// package queueing has constants with these codes (queueing.Hopeless). Last the doubts about
// the replay and about a demand's source, and a case in which an assumption is off.
var (
	sizeAdvice     = record.Sentence("size-advice", `{{plural .Values.workers "worker"}} and a queue of {{count .Values.queue}} keep {{.Names.slo}} at {{.Names.rate}}{{with .Names.assumed}} ({{.}} is assumed){{end}}`)
	sizePools      = record.Sentence("size-pools", `where a worker serves a request (pool-request); workers that keep their connection (pool) must be at least as many as clients keep connections`)
	sizeWaits      = record.Sentence("size-waits", `No SLO given: {{plural .Values.workers "worker"}} at least for {{.Names.rate}}; from {{count .Values.knee}} on a request waits, on average, less than a tenth of the time it is held`)
	sizeNoCores    = record.Sentence("size-no-cores", `No number of workers keeps up with {{.Names.rate}}: the requests need {{digits .Values.cores}} cores, and there are {{count .Values.have}}; below {{digits .Values.most_rate}}/s they could`)
	sizeHopeless   = record.Sentence("size-hopeless", `No number of workers keeps {{.Names.slo}} at {{if .Values.most_rate}}{{.Names.rate}}{{else}}any rate{{end}}: {{template "because" .}}{{with .Values.most_rate}}. About {{digits .}}/s could be promised{{end}}`)
	_              = record.Sentence("size-alone", `a request alone on an idle server breaks it: its own demand is too long{{if .Names.exponential}}, at the slow end of exponential times; if all requests take about {{.Names.exponential}}, give --workload sleep={{.Names.exponential}}{{end}}`)
	_              = record.Sentence("size-cores", `the requests ask for {{printf "%.3g" .Values.cores}} cores, {{printf "%.3g" .Values.with_margin}} with the margin, and {{count .Values.have}} is all there is; more workers add no CPU`)
	_              = record.Sentence("size-cores-wait", `waiting for the cores alone breaks it, with a worker for each request; more workers add no CPU`)
	_              = record.Sentence("size-by-a-hair", `a worker for each request just keeps it, and no fixed number of workers does`)
	_              = record.Sentence("size-loss", `it allows next to no loss, and a queue of {{count .Values.queue}} before {{count .Values.workers}} workers loses more`)
	sizeRareErrors = record.Sentence("size-rare-errors", `{{.Names.term}} is rarer than {{count .Values.replayed}} replayed requests can tell: even where none was lost, up to {{percentf "%.3g" .Values.most}} may be`)
	sizeRareTail   = record.Sentence("size-rare-tail", `{{.Metric}} rests on the {{count .Values.slowest}} slowest of {{count .Values.replayed}} replayed requests`)
	sizeBuckets    = record.Sentence("size-buckets", `a histogram tells a time to within its bucket: a quantile may lie anywhere between the bounds around it`)
	sizeBeyond     = record.Sentence("size-beyond", `{{percentf "%.3g" .Values.share}} of the times are above its last bound of {{printf "%.4g" .Values.bound}} s: how far is not known, and each is taken as the {{printf "%.4g" .Values.taken}} s that `+
		`{{if .Values.no_sum}}they have at least, for it has no sum{{else}}its sum leaves them on average{{end}}`)
	sizeCoarse = record.Sentence("size-coarse", `its buckets are coarse: they put the mean at {{printf "%.4g" .Values.own}} s, its sum at {{printf "%.4g" .Values.mean}} s`)
	sizeOff    = record.Sentence("size-off", `{{.Metric}} {{percentf "%+.0f" .Values.by}}`)
)

// Facts about the choice of a model: the answer, where it is from, where the size is from, the doubts, the outcomes of a test, and why a cell's experiment
// does not fit its question. Last, without a name, when the choice does not matter: Choose makes the
// code of such a fact from the kind of the requests.
var (
	chooseAdvice = record.Sentence("choose-advice", `{{if .Names.open}}Not decided which model is best: {{else}}Choose {{end}}{{.Names.mode}}{{with .Values.workers}} with {{plural . "worker"}}{{end}}{{with .Values.queue}} and a queue of {{count .}}{{end}}`+
		`{{if .Names.open}} ({{.Names.summary}}){{if .Names.plain}} has about the best figures; {{.Names.plain}}, the plainest, {{if .Names.worse}}was worse in the test{{else}}is not known to be worse{{with .Names.at}} at {{.}}{{end}}{{end}}{{else}}, the plainest, is not known to be worse than another{{end}}{{else}}: {{.Names.summary}}{{end}}`+
		`{{with .Names.kept}}. Each of the {{count $.Values.tested}} tested models kept {{.}} in {{if eq $.Values.least $.Values.blocks}}all {{count $.Values.blocks}} blocks{{else}}{{count $.Values.least}} of {{plural $.Values.blocks "block"}} or more{{end}}{{with $.Names.broken}}, but over all requests {{.}} did not{{end}}{{end}}`)
	chooseAsked = record.Sentence("choose-asked", `{{with .Values.cpu}}{{time .}} of CPU{{with $.Values.lock}} ({{time .}} of it under one lock){{end}}{{if $.Values.sleep}} and {{end}}{{end}}{{with .Values.sleep}}{{time .}} of waiting{{end}} a request, `+
		`{{if gt .Values.pipeline 1.0}}{{count .Values.pipeline}} at a time on each of {{count .Values.connections}} connections`+
		`{{else}}{{per .Values.rate}} on {{count .Values.connections}} kept connections{{with .Values.idle}} beside {{count .}} idle ones{{end}}{{end}}: `+
		`{{or .Names.asks (kind .Names.does)}}, about {{percent .Values.busy}} of the CPU time, {{percent .Values.http}} for HTTP itself; what matters: {{.Names.matters}}`)
	chooseMeasured = record.Sentence("choose-measured", `the experiment {{.Names.scenario}} (docs/experiments, {{.Names.commit}}): {{if eq .Names.outcome "one-wins"}}{{.Names.best}} wins{{else}}{{outcome .Names.outcome}}: {{.Names.best}}{{end}}{{range .Because}}; {{say .}}{{end}}`)
	chooseVerdict  = record.Sentence("choose-verdict", `{{.Arm}} against {{.Baseline}} at {{metric .Metric}}: {{.Names.verdict}}{{with .Values.low}}, {{change $.Values.ratio}} ({{change .}} to {{change $.Values.high}}){{end}}`+
		`{{range .Because}}, {{say .}}{{end}}`)
	chooseFewRequests = record.Sentence("choose-few-requests", `{{per .Values.rate}} are too few for {{.Metric}} in windows of a two-minute test, which cannot tell whether {{.Names.slo}} is kept`)
	chooseNoSize      = record.Sentence("choose-no-size", `nothing to size: it has no workers and no queue to set`)
	chooseLoops       = record.Sentence("choose-loops", `a loop for each of the server's {{plural .Values.cores "CPU"}}, which is the default`)
	chooseSized       = record.Sentence("choose-sized", `{{count .Values.least}} workers and a queue of {{count .Values.queue}} are the least that keep {{.Names.slo}} (schedlab size){{if eq .Names.matters "tail"}}; with those advised hardly a request waits for a worker{{end}}`)
	chooseKnee        = record.Sentence("choose-knee", `by Little's law {{per .Values.rate}} x {{time .Values.held}} keep {{digits .Values.busy}} workers busy; `+
		`{{if eq .Names.matters "tail"}}with those advised hardly a request waits for one{{else}}with those advised a wait is a tenth of the time held{{end}}; give --slo for a size that keeps it`)
	chooseHopeless = record.Sentence("choose-hopeless", `no number of workers keeps {{.Names.slo}}, and schedlab size says why; {{digits .Values.busy}} are busy by Little's law`)
	chooseFull     = record.Sentence("choose-full", `the requests need {{percent .Values.busy}} of the CPU time there is: no model keeps up, so ask what to do under it with --matters overload`)
	chooseKept     = record.Sentence("choose-kept", `measured with a connection for each request; on kept connections its workers would keep them, so {{.Names.mode}} stands for it`)
	chooseWaits    = record.Sentence("choose-waits", `measured with requests that do not wait; a loop would stand still while one does, so {{.Names.mode}} stands for it`)
	chooseCrowded  = record.Sentence("choose-crowded", `{{count .Values.connections}} connections weigh more in memory than {{kind .Names.does}}, and are like {{kind .Names.near}}: {{template "because" .}}`)
	chooseHeld     = record.Sentence("choose-held", `{{if .Names.open}}not refuted{{else}}the advice held{{end}}: nothing is surely better than {{.Names.mode}}`+
		`{{with .Names.open}}; against {{.}} it is undecided{{end}}{{range .Because}}; {{say .}}{{end}}`)
	chooseParser = record.Sentence("choose-parser", `{{.Names.mode}} is on fasthttp's parser: its handlers are fasthttp's (fasthttp.RequestHandler), not net/http's; `+
		`{{if .Names.above}}how net/http did in the experiment is told above{{else if .Because}}net/http in the experiment: {{template "list" .}}{{else}}net/http was not measured in the experiment {{.Names.scenario}}{{end}}`)
	chooseWrong  = record.Sentence("choose-wrong", `the advice is wrong: another is better than {{.Names.mode}}{{range .Because}}; {{say .}}{{end}}`)
	chooseOpen   = record.Sentence("choose-open", `nothing can be said: every verdict was refused{{range .Because}}; {{say .}}{{end}}`)
	chooseShed   = record.Sentence("choose-shed", `not known to hold: {{.Names.mode}} left {{plural .Values.errors "request"}} of {{count .Values.requests}} without a good reply{{range .Because}}; {{say .}}{{end}}`)
	chooseBroken = record.Sentence("choose-broken", `the advice is wrong: {{.Names.mode}} breaks the SLO{{range .Because}}; {{say .}}{{end}}`)
	chooseKeeps  = record.Sentence("choose-keeps", `{{.Arm}} {{if eq .Names.answer "yes"}}kept{{else if eq .Names.answer "no"}}did NOT keep{{else}}may or may not keep{{end}} {{.Names.slo}}`+
		`{{if .Because}}: {{template "because" .}}{{else}}{{if ne .Names.answer "yes"}}: kept{{end}} in {{count .Values.kept}} of {{plural .Values.blocks "block"}}{{end}}{{with .Names.broken}}; over all requests {{.}}{{end}}`)
	chooseOneMode = record.Sentence("choose-one-mode", `the experiment {{.Names.scenario}} compares settings of {{.Names.mode}} with one another, not models`)
	chooseBelow   = record.Sentence("choose-below", `the experiment {{.Names.scenario}} asks for less than its arms can do: it shows no overload`)
	_             = record.Sentence("choose-unless-short-cpu", `while few requests meet, below a third of the CPU time{{if gt .Values.busy .34}} (not so here){{end}}: under Poisson arrivals a third of them at most find the CPU busy then`)
	_             = record.Sentence("choose-unless-blocking", `as long as there are many more workers than Little's law keeps busy, rate x time held: few requests find all of them busy then`)
	_             = record.Sentence("choose-unless-mixed", `while long requests are rare enough that none is under way when a short one comes, or there are more workers and CPUs than long requests at a time`)
	_             = record.Sentence("choose-unless-heavy-tail", `when all requests are about as long: with one demand for all, the order of service changes no mean`)
	_             = record.Sentence("choose-unless-idle", `below a hundred connections for memory, some thousand for the rest: an idle one costs kilobytes and no time`)
	_             = record.Sentence("choose-unless-bursts", `when a burst's work is done before the next request comes, and nobody minds that its last one waits for all the others`)
	_             = record.Sentence("choose-unless-pipelined", `when a request takes more than about 200 µs: a model adds 10 to 20 to each`)
	_             = record.Sentence("choose-unless-locks", `as long as the lock is mostly free: under Poisson arrivals the share of requests that find it taken is rate x time held`)
)
