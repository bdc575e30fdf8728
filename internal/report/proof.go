package report

import (
	"fmt"

	"schedlab/internal/record"
)

// generator says what the load side did, at its worst over the arms; "" when
// that was not recorded.
func generator(arms []record.Arm) string {
	var worst record.Proofs
	known := false
	for _, a := range arms {
		g := a.Generator
		if g == nil {
			continue
		}
		known = true
		worst.Busy, worst.GCs = max(worst.Busy, g.Busy), worst.GCs+g.GCs
		worst.LongestPause, worst.LongestLag = max(worst.LongestPause, g.LongestPause), max(worst.LongestLag, g.LongestLag)
		worst.Missing += g.Missing
	}
	if !known {
		return ""
	}
	text := fmt.Sprintf("busy %.0f%s%% at most, latest send %s after its time", 100*worst.Busy, nbsp, seconds(worst.LongestLag))
	if worst.GCs > 0 {
		text += fmt.Sprintf(", %s of garbage that stopped it for %s at most", plural(int(worst.GCs), "collection"), seconds(worst.LongestPause))
	} else {
		text += ", no garbage collected"
	}
	if worst.Missing > 0 {
		text += fmt.Sprintf(", %s planned and never sent", plural(worst.Missing, "request"))
	}
	return text
}
