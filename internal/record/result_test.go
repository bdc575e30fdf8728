package record

import "testing"

func TestDoubtInALine(t *testing.T) {
	t.Parallel()
	for want, d := range map[string]Doubt{"pool: it is late": {Arm: "pool", Text: "it is late"}, "a: b": {Text: "a: b"}} {
		if got := d.String(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
