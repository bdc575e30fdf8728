package responses

import "testing"

// A time that begins a row, or is just longer, is in that row.
func TestHeatRowsBeginAtTheirTime(t *testing.T) {
	t.Parallel()
	for row := range NoReply {
		if got := HeatRow(HeatTime(row) * (1 + 1e-9)); got != row {
			t.Errorf("%g s is in row %d, want %d", HeatTime(row), got, row)
		}
	}
}
