package queueing

import (
	"fmt"
	"math"
	"testing"
)

func TestApproximationsMeetWhatTheyGeneralize(t *testing.T) {
	t.Parallel()
	for _, rho := range []float64{0, 0.3, 0.7, 0.95, 1, 2} {
		near(t, fmt.Sprintf("Allen-Cunneen of M/M/4, rho %v", rho), AllenCunneen(4*rho, 1, 4, 1, 1), MMc(4*rho, 1, 4), exact)
	}
	near(t, "D/D/1 never waits", AllenCunneen(0.99, 1, 1, 0, 0), 1, exact)
	near(t, "M/D/4 waits half as long", AllenCunneen(3.2, 1, 4, 1, 0), 1+0.7455/2, printed)
}

func TestRoundRobin(t *testing.T) {
	t.Parallel()
	near(t, "one queue is M/M/1", RoundRobin(0.7, 1, 1), 1/0.3, 1e-9)
	// E_2/M/1 at rho 0.5 (lambda 1 over two): σ = ((1)/(2-σ))² has the root (3-√5)/2.
	sigma := (3 - math.Sqrt(5)) / 2
	near(t, "E_2/M/1", RoundRobin(1, 1, 2), 1/(1-sigma), 1e-9)
	near(t, "no arrivals", RoundRobin(0, 2, 3), 2, 1e-9)
	near(t, "saturated", RoundRobin(3, 1, 3), inf, 0)
	for _, c := range []int{2, 4, 16} {
		lambda := 0.8 * float64(c)
		one, dealt, random := MMc(lambda, 1, c), RoundRobin(lambda, 1, c), MMc(0.8, 1, 1)
		if !(one < dealt && dealt < random) {
			t.Errorf("%d workers: got %v, want it between one queue %v and random queues %v", c, dealt, one, random)
		}
	}
}
