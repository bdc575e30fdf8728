package report

import (
	"slices"
	"strings"

	"schedlab/internal/command"
	"schedlab/internal/record"
)

// sizeFlags are the flags of `schedlab serve` that bound how much a server does at a time, with
// the word for one of what they count.
var sizeFlags = []struct{ flag, one string }{{"workers", "worker"}, {"listeners", "listener"}, {"processes", "process"}, {"threads", "thread"}}

// mostSizes is the number of arms with a size of their own that one line names.
const mostSizes = 3

// sizes tells what the arms' names leave out: the mode behind another name, and how many workers,
// listeners or processes an arm has: "pool is pool-request with 4 workers". "" if the names say it
// all, or if there are more than mostSizes such arms.
func sizes(arms []record.Arm) string {
	var all []string
	for _, a := range arms {
		words, err := command.Split(a.Command)
		if a.Role == record.Copy || a.Mode == "" || err != nil {
			continue
		}
		var has []string
		for _, s := range sizeFlags {
			i := slices.Index(words, "--"+s.flag)
			if i >= 0 && i+1 < len(words) && !strings.Contains(a.Name, s.flag+"=") {
				noun := s.flag
				if words[i+1] == "1" {
					noun = s.one
				}
				has = append(has, words[i+1]+nbsp+noun)
			}
		}
		text := a.Name
		if first, _, _ := strings.Cut(a.Name, ","); first != a.Mode {
			text += " is " + a.Mode
			if len(has) > 0 {
				text += " with " + strings.Join(has, " and ")
			}
		} else if text += " has " + strings.Join(has, " and "); len(has) == 0 {
			continue
		}
		all = append(all, text)
	}
	if len(all) > mostSizes {
		return ""
	}
	return strings.Join(all, "; ")
}
