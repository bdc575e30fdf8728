package prose_test

import (
	"testing"

	"schedlab/internal/prose"
)

func TestPlural(t *testing.T) {
	t.Parallel()
	for n, want := range map[int]string{0: "0 blocks", 1: "1 block", 2: "2 blocks"} {
		if got := prose.Plural(n, "block"); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestSeconds(t *testing.T) {
	t.Parallel()
	for v, want := range map[float64]string{0: "0 s", 1.5: "1.50 s", 3e-3: "3.00 ms", -3e-3: "-3.00 ms", 235e-6: "235 µs", 999.7e-9: "1.00 µs", 0.9998: "1.00 s", 9.996e-3: "10.0 ms", 0.9994: "999 ms", -2e-9: "-2.00 ns"} {
		if got := prose.Seconds(v); got != want {
			t.Errorf("%v: got %q, want %q", v, got, want)
		}
	}
}

func TestFirstLine(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{"": "", " a b \nc": "a b", "a": "a", "\na": ""} {
		if got := prose.FirstLine(text); got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
}
