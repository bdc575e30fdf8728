package prose_test

import (
	"testing"

	"schedlab/internal/shared/prose"
)

// expect compares what say makes of values with what is wanted.
func expect[T comparable](t *testing.T, say func(T) string, wanted map[T]string) {
	t.Helper()
	for v, want := range wanted {
		if got := say(v); got != want {
			t.Errorf("%v: got %q, want %q", v, got, want)
		}
	}
}

func TestPlural(t *testing.T) {
	t.Parallel()
	expect(t, func(n int) string { return prose.Plural(n, "block") }, map[int]string{0: "0 blocks", 1: "1 block", 2: "2 blocks"})
}

func TestFirstLine(t *testing.T) {
	t.Parallel()
	expect(t, prose.FirstLine, map[string]string{"": "", " a b \nc": "a b", "a": "a", "\na": ""})
}

func TestPerSecond(t *testing.T) {
	t.Parallel()
	expect(t, prose.PerSecond, map[float64]string{
		0:     "0/s",
		1.234: "1.23/s", 99.96: "100/s", 100: "100/s", 999.4: "999/s", 1000: "1,000/s", 12500.4: "12,500/s", 1234567: "1,234,567/s",
	})
}

func TestGrouped(t *testing.T) {
	t.Parallel()
	expect(t, prose.Grouped, map[string]string{
		"": "", "999": "999", "1000": "1,000", "-999": "-999", "-1000": "-1,000", "-12500.25/s": "-12,500.25/s",
		"100000": "100,000", "1234567": "1,234,567", "0.12345": "0.12345", "99999 ms": "99,999 ms", "9000/s": "9,000/s",
	})
}

func TestDigits(t *testing.T) {
	t.Parallel()
	expect(t, prose.Digits, map[float64]string{
		0: "0", 1.234: "1.23", 99.94: "99.9", 99.96: "100", 100: "100",
		1234567: "1234567", -1234.5: "-1234", -99.94: "-99.9", 0.0000123: "1.23e-05",
	})
}

func TestRoundTime(t *testing.T) {
	expect(t, prose.RoundTime, map[float64]string{0: "0 s", 20e-6: "20 µs", 0.028: "28 ms", 1.5: "1.5 s", 3: "3 s", 197: "197 s", 3600: "3,600 s", 5e-9: "5 ns", 0.53: "530 ms"})
}

func TestSeconds(t *testing.T) {
	t.Parallel()
	expect(t, prose.Seconds, map[float64]string{
		0: "0 s", 1.5: "1.50 s", 3e-3: "3.00 ms", -3e-3: "-3.00 ms", 235e-6: "235 µs", -2e-9: "-2.00 ns", 2e-12: "0.002 ns",
		// What three digits round up goes to the next unit.
		0.9994: "999 ms", 0.9998: "1.00 s", 999.4e-6: "999 µs", 999.7e-6: "1.00 ms", 999.4e-9: "999 ns", 999.7e-9: "1.00 µs",
		9.994: "9.99 s", 9.996e-3: "10.0 ms", 99.96: "100 s", 12500: "12,500 s",
	})
}
