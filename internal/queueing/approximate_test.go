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

// machines is the exact closed loop of exponential demands, by mean value analysis
// (Reiser and Lavenberg, 1980): what the bounds must hold.
func machines(clients int, think float64, demands ...float64) (x float64) {
	queue := make([]float64, len(demands))
	for n := 1; n <= clients; n++ {
		var response float64
		for k, d := range demands {
			response += d * (1 + queue[k])
		}
		x = float64(n) / (response + think)
		for k, d := range demands {
			queue[k] = x * d * (1 + queue[k])
		}
	}
	return x
}

func TestClosedLoopBounds(t *testing.T) {
	t.Parallel()
	for _, demands := range [][]float64{{0.002}, {0.001, 0.001}, {0.003, 0.001, 0.0005}} {
		var total, longest float64
		for _, d := range demands {
			total, longest = total+d, max(longest, d)
		}
		for _, think := range []float64{0, 0.01, 1} {
			for _, n := range []int{1, 2, 7, 64, 2000} {
				x := machines(n, think, demands...)
				mostX, leastT := Asymptotic(n, total, longest, think)
				const slack = 1 + 1e-9
				if !(x <= mostX*slack) {
					t.Errorf("N %d, Z %v, D %v: X %v is above the bound of %v", n, think, demands, x, mostX)
				}
				near(t, "least T", leastT, float64(n)/mostX-think, exact)
			}
		}
	}
	// The seed's ten sessions on one resource of 2.4 ms.
	mostX, leastT := Asymptotic(10, 0.0024, 0.0024, 0)
	near(t, "throughput of the sticky scenario", mostX, 1/0.0024, exact)
	near(t, "response of the sticky scenario", leastT, 0.024, exact)
	for what, c := range map[string]struct {
		clients               int
		total, longest, think float64
	}{
		"no client": {0, 1, 1, 0}, "no demand": {1, 0, 0, 0}, "longest above total": {1, 1, 2, 0}, "negative think": {1, 1, 1, -1},
	} {
		mostX, leastT := Asymptotic(c.clients, c.total, c.longest, c.think)
		near(t, what, mostX, nan, 0)
		near(t, what, leastT, nan, 0)
	}
}
