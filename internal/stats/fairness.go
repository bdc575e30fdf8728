package stats

// Jain returns Jain's fairness index of x, shares that are not negative, such
// as answers per connection:
//
//	(Σx)² / (n·Σx²)
//
// from 1/n, when one has everything, to 1, when all have the same (Jain, Chiu
// and Hawe, DEC-TR-301, 1984). It is 0, "not applicable", when x is empty or
// nobody has anything: equal starvation is not fairness.
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
