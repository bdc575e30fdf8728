package host

import (
	"context"
	"os"
	"time"

	"schedlab/internal/shared/record"
)

// lookEvery is the time between two looks while nothing is measured. A look costs some milliseconds.
const lookEvery = 250 * time.Millisecond

// AwaitQuiet waits until others have left the CPUs of server and load alone for span: they took no more than a tenth of
// either. It returns who used them over the last span, and whether that was quiet. It gives up when ctx ends. It returns
// at once, with last nil, if the machine does not tell who uses its CPUs.
func AwaitQuiet(ctx context.Context, cpus Sides, span time.Duration) (last *record.Others, quiet bool) {
	var looks []look
	for {
		now := lookAtMachine()
		if len(now.cpus) == 0 {
			return nil, false
		}
		looks = append(looks, now)
		for len(looks) > 2 && now.at.Sub(looks[1].at) >= span {
			looks = looks[1:]
		}
		w := newWatchdog(os.Getpid(), cpus, nil)
		for _, l := range looks {
			w.add(l)
		}
		last = w.others()
		if now.at.Sub(looks[0].at) >= span && last.Quiet() {
			return last, true
		}
		select {
		case <-ctx.Done():
			return last, false
		case <-time.After(lookEvery):
		}
	}
}
