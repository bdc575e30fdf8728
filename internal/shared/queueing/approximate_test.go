package queueing

import (
	"fmt"
	"math"
	"testing"
	"time"
)

// whole is a Turn within which every job ends.
const whole = time.Duration(math.MaxInt64)

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
	near(t, "E_4/M/1, as a test of dispatch has it", roundRobin(2800, 0.001, 4), 0.00223669363388, 1e-9)
	near(t, "one queue is M/M/1", roundRobin(0.7, 1, 1), 1/0.3, 1e-9)
	// E_2/M/1 at rho 0.5 (lambda 1 over two): σ = ((1)/(2-σ))² has the root (3-√5)/2.
	sigma := (3 - math.Sqrt(5)) / 2
	near(t, "E_2/M/1", roundRobin(1, 1, 2), 1/(1-sigma), 1e-9)
	near(t, "no arrivals", roundRobin(0, 2, 3), 2, 1e-9)
	near(t, "saturated", roundRobin(3, 1, 3), inf, 0)
	for _, c := range []int{2, 4, 16} {
		lambda := 0.8 * float64(c)
		one, dealt, random := MMc(lambda, 1, c), roundRobin(lambda, 1, c), MMc(0.8, 1, 1)
		if !(one < dealt && dealt < random) {
			t.Errorf("%d workers: got %v, want it between one queue %v and random queues %v", c, dealt, one, random)
		}
	}
}

// roundRobin returns the mean response time of servers with exponential demands. Each server has a
// separate queue, and the requests are dealt to the queues in turn. Each queue then sees every
// c-th arrival of a Poisson stream, E_c/M/1:
//
//	T = S / (1-σ),  σ = (lambda / (lambda + (1-σ)/S))^c, the root below 1
//
// and its response times are exponential. (Kleinrock, Queueing Systems, volume 1, 1975, chapter 6,
// on G/M/1.) T lies between [MMc], one queue for all, and c separate Poisson streams, MMc with one
// server at lambda/c. The part above MMc is head-of-line blocking.
func roundRobin(lambda, service float64, servers int) float64 {
	c := float64(servers)
	if lambda*service >= c {
		return math.Inf(1)
	}
	deals := func(sigma float64) float64 { return math.Pow(lambda/(lambda+(1-sigma)/service), c) }
	// deals is convex, above σ up to the root and below it from there to 1.
	sigma := last(0, 1, 1e-15, func(sigma float64) bool { return deals(sigma) > sigma })
	return service / (1 - sigma)
}
