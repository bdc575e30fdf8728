package session

import (
	"time"

	"schedlab/internal/measuring/report"
	"schedlab/internal/measuring/window"
	"schedlab/internal/shared/fact"
	"schedlab/internal/shared/record"
)

// heard is an Observer that keeps the sentences.
type heard struct {
	said    []string
	watched bool
}

func (h *heard) Step(string, int, int, time.Duration) {}
func (h *heard) Say(s string)                         { h.said = append(h.said, s) }
func (h *heard) Machine(s string)                     { h.said = append(h.said, s) }
func (h *heard) Doubt(fact.Fact)                      {}
func (h *heard) Trouble(record.Trouble)               {}
func (h *heard) Look(record.Result, int)              {}
func (h *heard) Window(record.Plan, window.Window)    {}
func (h *heard) Ended(*record.Dir, record.Run)        {}
func (h *heard) Done()                                {}
func (h *heard) Entry(report.PackEntry) error         { return nil }
func (h *heard) Watched() bool                        { return h.watched }
