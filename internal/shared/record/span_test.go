package record

import (
	"encoding/json"
	"testing"
	"time"
)

// A chosen time is seconds in JSON, to the digit as a float64 prints them, and 0 is left out where that was so.
func TestSpanIsSeconds(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		d    time.Duration
		want string
	}{
		{0, "0"}, {500 * time.Millisecond, "0.5"}, {3600 * time.Millisecond, "3.6"}, {1118 * time.Millisecond, "1.1179999999999999"},
		{1, "1e-9"}, {24 * time.Hour, "86400"}, {10*time.Minute + 1, "600.000000001"},
	} {
		text, err := json.Marshal(Lasting(c.d))
		if err != nil || string(text) != c.want {
			t.Errorf("%v is %s, %v; want %s", c.d, text, err, c.want)
		}
		var back Span
		if err := json.Unmarshal(text, &back); err != nil || back != Lasting(c.d) {
			t.Errorf("%s is read as %v, %v; want %v", text, back, err, c.d)
		}
	}
	text, err := json.Marshal(WouldDo{Window: Lasting(1400 * time.Millisecond)})
	if want := `{"window":1.4}`; err != nil || string(text) != want {
		t.Errorf("got %s, %v; want %s", text, err, want)
	}
}

// Seconds that an older schedlab computed are read to the nearest nanosecond.
func TestSpanReadsOlderSeconds(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]time.Duration{
		"3.3000000000000003": 3300 * time.Millisecond, "0.30000000000000004": 300 * time.Millisecond, "1.118": 1118 * time.Millisecond,
		"1.1179999999999999": 1118 * time.Millisecond, "0.1234567890123": 123456789, "3.3": 3300 * time.Millisecond,
	} {
		var s Span
		if err := json.Unmarshal([]byte(text), &s); err != nil || s.Duration != want {
			t.Errorf("%s is read as %v, %v; want %v", text, s, err, want)
		}
	}
	if err := json.Unmarshal([]byte(`"1s"`), new(Span)); err == nil {
		t.Error("text is read as seconds")
	}
}
