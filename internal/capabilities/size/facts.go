package size

import (
	"schedlab/internal/shared/fact"
	"schedlab/internal/shared/queueing"
)

// A question has the rate and the SLO as the user wrote them.
type question struct{ Rate, SLO string }

// The other values of the headlines of `size`.
type (
	advice struct {
		question
		Workers, Queue int
		Assumed        string `json:"assumed,omitempty"` // the term of the SLO that was added
	}
	leastWorkers struct {
		question
		Workers int // fewest that keep up
		Knee    int // from here on waits are short
	}
	tooFewCores struct {
		question
		Cores    float64 // that the requests need
		Have     int
		MostRate float64 // per second
	}
	noAdvice struct {
		question
		MostRate float64 // that could be promised, per second; 0 if none could
	}
)

// Headlines: an advice, a table of waits, and the two reasons why there is neither.
var (
	sizeAdvice   = fact.New[advice]("size-advice", 0, `{{plural .Workers "worker"}} and a queue of {{count .Queue}} keep {{.SLO}} at {{.Rate}}{{with .Assumed}} ({{.}} is assumed){{end}}`)
	sizeWaits    = fact.New[leastWorkers]("size-waits", 0, `No SLO given: {{plural .Workers "worker"}} at least for {{.Rate}}; from {{count .Knee}} on a request waits, on average, less than a tenth of the time it is held`)
	sizeNoCores  = fact.New[tooFewCores]("size-no-cores", 0, `No number of workers keeps up with {{.Rate}}: the requests need {{digits .Cores}} cores, and there are {{count .Have}}; below {{digits .MostRate}}/s they could`)
	sizeHopeless = fact.New[noAdvice]("size-hopeless", 0, `No number of workers keeps {{.SLO}} at {{if .MostRate}}{{.Rate}}{{else}}any rate{{end}}: {{template "because" .}}{{with .MostRate}}. About {{digits .}}/s could be promised{{end}}`)
)

// sizePools names the pools for which an advice and a table of waits hold.
var sizePools = fact.Plain("size-pools", 0, `where a worker serves a request (pool-request); workers that keep their connection (pool) must be at least as many as clients keep connections`)

// A limit has the values of the reasons why no number of workers is enough.
type limit struct {
	Cores, WithMargin float64 // that the requests need, and with the margin
	Have              int     // cores
	Queue             int     // the longest that was tried
	Workers           int     // with the queue
	Exponential       string  `json:"exponential,omitempty"` // mean of the times held, where they are exponential
}

// reasons are the kinds of facts that tell why no number of workers is enough.
var reasons = map[queueing.Hopeless]*fact.Kind[limit]{
	queueing.TooLong:     reason(queueing.TooLong, `a request alone on an idle server breaks it: its own demand is too long{{if .Exponential}}, at the slow end of exponential times; if all requests take about {{.Exponential}}, give --workload sleep={{.Exponential}}{{end}}`),
	queueing.TooFewCores: reason(queueing.TooFewCores, `the requests ask for {{printf "%.3g" .Cores}} cores, {{printf "%.3g" .WithMargin}} with the margin, and {{count .Have}} is all there is; more workers add no CPU`),
	queueing.CoresWait:   reason(queueing.CoresWait, `waiting for the cores alone breaks it, with a worker for each request; more workers add no CPU`),
	queueing.ByAHair:     reason(queueing.ByAHair, `a worker for each request just keeps it, and no fixed number of workers does`),
	queueing.NoQueue:     reason(queueing.NoQueue, `it allows next to no loss, and a queue of {{count .Queue}} before {{count .Workers}} workers loses more`),
}

// reason registers the sentence of a reason, which is the code of its facts.
func reason(why queueing.Hopeless, text string) *fact.Kind[limit] {
	return fact.New[limit](fact.Code(why), 0, text)
}

// What doubts about an answer tell.
type (
	rareErrors struct {
		Term     string // of the SLO
		Replayed int    // requests
		Most     float64
	}
	rareTail struct {
		Slowest  float64 // requests beyond the quantile
		Replayed int
	}
	// Times are in seconds.
	beyond struct {
		Share float64 // of the times, above Bound
		Bound float64 // the last one
		Taken float64 // that each of these times is taken as
		NoSum bool
	}
	coarse struct{ Own, Mean float64 } // means of the buckets and of the sum, seconds
	off    struct{ By float64 }        // ratio
)

// Doubts about the replay, a demand's source and theory as such, and a case in which an assumption is off.
var (
	sizeRareErrors = fact.New[rareErrors]("size-rare-errors", 0, `{{.Term}} is rarer than {{count .Replayed}} replayed requests can tell: even where none was lost, up to {{percentf "%.3g" .Most}} may be`)
	sizeRareTail   = fact.New[rareTail]("size-rare-tail", 0, `{{.Metric}} rests on the {{count .Slowest}} slowest of {{count .Replayed}} replayed requests`)
	sizeBuckets    = fact.Plain("size-buckets", 0, `a histogram tells a time to within its bucket: a quantile may lie anywhere between the bounds around it`)
	sizeBeyond     = fact.New[beyond]("size-beyond", 0, `{{percentf "%.3g" .Share}} of the times are above its last bound of {{printf "%.4g" .Bound}} s: how far is not known, and each is taken as the {{printf "%.4g" .Taken}} s that `+
		`{{if .NoSum}}they have at least, for it has no sum{{else}}its sum leaves them on average{{end}}`)
	sizeCoarse = fact.New[coarse]("size-coarse", 0, `its buckets are coarse: they put the mean at {{printf "%.4g" .Own}} s, its sum at {{printf "%.4g" .Mean}} s`)
	sizeOff    = fact.New[off]("size-off", 0, `{{.Metric}} {{percentf "%+.0f" .By}}`)
	sizeTheory = fact.Plain("size-theory", 0, `theory knows no cost of parsing, switching, timers or the collector, and takes arrivals for Poisson; bursts need more`)
)
