package experiment

import (
	"time"

	"schedlab/internal/record"
)

// openFiles opens the scenario's files, and raises doubts about gaps in an access log.
func (p *plan) openFiles() error {
	if err := p.scenario.Open(); err != nil {
		return impossible("%v", err)
	}
	p.Asked = p.scenario.Asked()
	if p.scenario.Log == nil {
		return nil
	}
	l := p.scenario.Log.Log()
	if said := l.LeftOut(); said != "" {
		p.doubt(record.Fact{Code: record.LogLinesLeftOut, Names: record.Names{"file": p.scenario.Log.File, "said": said}})
	}
	if l.Whole {
		p.doubt(record.Fact{Code: wholeSeconds, Names: record.Names{"file": p.scenario.Log.File}})
	}
	return nil
}

// checkReplay returns an error if the log is shorter than a trial at the given rate.
func (p *plan) checkReplay(rate float64) error {
	span := p.span()
	if lasts := p.scenario.Log.LogSpan(rate); lasts < span {
		return impossible("%s lasts %v at %.0f/s, and a trial takes %v; lower the speed or --rate, shorten --window, or take more of the log",
			p.scenario.Log.File, lasts.Round(time.Millisecond), rate, span)
	}
	return nil
}
