package size

import "schedlab/internal/record"

// Facts about the size of a pool, in groups. First the headlines of `size`: an advice, a table of
// waits, and the two ways in which there is none; sizePools tells for which pools an advice and a
// table hold. Then, without a name, the reasons of sizeHopeless:
// package queueing has constants with these codes (queueing.Hopeless). Last the doubts about
// the replay, a demand's source and theory as such, and a case in which an assumption is off.
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
	sizeTheory = record.Sentence("size-theory", `theory knows no cost of parsing, switching, timers or the collector, and takes arrivals for Poisson; bursts need more`)
)
