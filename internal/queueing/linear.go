package queueing

import "math"

// linear is a least-squares problem with three unknowns, as normal equations.
type linear struct {
	m [3][3]float64
	v [3]float64
}

// add asks row·b to be y.
func (l *linear) add(row [3]float64, y float64) {
	for i, a := range row {
		for j, b := range row {
			l.m[i][j] += a * b
		}
		l.v[i] += a * y
	}
}

// solve returns the unknowns and the inverse of the matrix, by elimination. The columns
// are brought to one size first: N² and 1 stand side by side. A matrix of squares needs no
// search for a pivot.
func (l *linear) solve() (b [3]float64, inverse [3][3]float64) {
	var size [3]float64
	var m [3][6]float64
	for i := range 3 {
		size[i] = math.Sqrt(l.m[i][i])
	}
	for i := range 3 {
		for j := range 3 {
			m[i][j] = l.m[i][j] / (size[i] * size[j])
		}
		m[i][3+i] = 1
	}
	for p := range 3 {
		for i := range 3 {
			if i == p {
				continue
			}
			f := m[i][p] / m[p][p]
			for j := range 6 {
				m[i][j] -= f * m[p][j]
			}
		}
	}
	for i := range 3 {
		for j := range 3 {
			inverse[i][j] = m[i][3+j] / m[i][i] / (size[i] * size[j])
			b[i] += inverse[i][j] * l.v[j]
		}
	}
	return b, inverse
}
