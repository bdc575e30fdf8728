package stats

// longestSeries limits the number of values that CorrelationTime reads, and so its work: it
// computes lags of up to a tenth of them.
const longestSeries = 20_000

// CorrelationTime returns tau, the integrated autocorrelation time of x in steps,
// at least 1: a mean over n correlated values is as sure as one over n/tau
// independent ones. It is
//
//	tau = 1 + 2·Σ rho(k),  k = 1, 2, … while rho(2j) + rho(2j+1) > 0
//
// with the autocorrelations cut off by the rule of Geyer ("Practical Markov Chain
// Monte Carlo", Statistical Science 7, 1992), for at most a tenth of the values.
// Fewer than 20 values, and equal ones, count as independent. Beyond 20,000
// values the first decide.
func CorrelationTime(x []float64) float64 {
	x = x[:min(len(x), longestSeries)]
	n := len(x)
	if n < 20 {
		return 1
	}
	mean := 0.0
	for _, v := range x {
		mean += v / float64(n)
	}
	covariance := func(lag int) float64 {
		sum := 0.0
		for i := range n - lag {
			sum += (x[i] - mean) * (x[i+lag] - mean)
		}
		return sum / float64(n)
	}
	variance := covariance(0)
	if !(variance > 0) {
		return 1
	}
	tau := -1.0
	for lag := 0; lag+1 <= n/10; lag += 2 {
		pair := (covariance(lag) + covariance(lag+1)) / variance
		if !(pair > 0) {
			break
		}
		tau += 2 * pair
	}
	return max(1, tau)
}
