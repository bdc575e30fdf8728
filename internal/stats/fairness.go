package stats

// Jain returns Jain's fairness index of x, which holds non-negative shares such
// as answers per connection:
//
//	(Σx)² / (n·Σx²)
//
// It is 1/n if one has everything, and 1 if all have the same (Jain, Chiu
// and Hawe, DEC-TR-301, 1984). It is 0, "not applicable", if x is empty or all
// shares are 0: equal starvation is not fairness.
func Jain(x []float64) float64 {
	sum, squares := 0.0, 0.0
	for _, v := range x {
		sum += v
		squares += v * v
	}
	if squares == 0 {
		return 0
	}
	return sum * sum / (float64(len(x)) * squares)
}
