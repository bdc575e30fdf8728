package report

import (
	"fmt"
	"strings"

	"schedlab/internal/prose"
	"schedlab/internal/record"
)

// Load says a load in a few words, for the plan and the reports.
func Load(c record.Clients) string {
	if c.Closed() {
		parts := []string{"closed loop of " + prose.Plural(c.Connections, "client")}
		for _, extra := range []struct {
			on   bool
			text string
		}{
			{c.Rate > 0, fmt.Sprintf("paced at %.0f/s together", c.Rate)},
			{c.Think > 0, fmt.Sprintf("that think %v", record.Duration(c.Think))},
			{c.Session > 0, fmt.Sprintf("sessions of %d", c.Session)},
			{c.Pipeline > 1, fmt.Sprintf("%d requests under way each", c.Pipeline)},
			{c.Ramp > 0, fmt.Sprintf("started over %v", record.Duration(c.Ramp))},
			{!c.KeepAlive, "a connection for each request"},
		} {
			if extra.on {
				parts = append(parts, extra.text)
			}
		}
		return strings.Join(parts, ", ")
	}
	text := "open loop, " + c.Arrivals
	if c.Rate > 0 {
		text += fmt.Sprintf(" at %.0f/s", c.Rate)
	}
	if c.KeepAlive {
		text += " over " + prose.Plural(c.Connections, "connection")
	} else {
		text += ", a connection for each request"
	}
	if c.Idle > 0 {
		text += fmt.Sprintf(", %d idle ones beside them", c.Idle)
	}
	if c.Engine != "" {
		text += ", sent by the engine " + c.Engine
	}
	return text
}
