package experiment

import (
	"math"
	"time"

	"schedlab/internal/load"
	"schedlab/internal/workload"
)

// demands draws n requests' CPU and sleep. The draw depends on the seed only,
// not on the calibration: that turns CPU time into iterations afterwards.
func demands(w Workload, n int, seed uint64, iters float64) []load.Demand {
	cpu, sleep := workload.NewRand(seed^0xc0ffee), workload.NewRand(seed^0x51ee9)
	d := make([]load.Demand, n)
	for i := range d {
		micros := float64(w.CPU.Sample(cpu)) / float64(time.Microsecond)
		d[i] = load.Demand{
			Iters: uint32(min(math.Round(micros*iters), math.MaxUint32)),
			Sleep: w.Sleep.Sample(sleep),
		}
	}
	return d
}
