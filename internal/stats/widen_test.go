package stats

import (
	"math"
	"testing"
)

func TestWidened(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		window float64
		blocks int
		want   float64
	}{{.5, 160, 2}, {.5, 161, 2.1}, {3.6, 41, 3.7}, {3.6, 20, 3.6}, {1, 2400, 60}, {1, 2401, 0}, {.5, math.MaxInt32, 0}} {
		if got := Widened(c.window, c.blocks); math.Abs(got-c.want) > 1e-9 {
			t.Errorf("windows of %g s, %d blocks: got %v s, want %v s", c.window, c.blocks, got, c.want)
		}
	}
}
