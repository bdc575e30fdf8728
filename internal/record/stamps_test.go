package record

import (
	"bytes"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// stamped is n requests' stamps as a trial has them, every seventh unjoined.
func stamped(n int) []Stamps {
	stamps := make([]Stamps, n)
	for i := range stamps {
		at := int64(1e6*i + 1)
		stamps[i] = Stamps{Ready: at, Wrote: at + 300, First: at + 90_000}
		if i%7 != 6 {
			s := &stamps[i]
			s.Read, s.Begin, s.End, s.Write = at+20_000, at+21_000, at+70_000, at+71_000
		}
		if i%5 == 0 {
			stamps[i].Accept, stamps[i].Enqueue, stamps[i].Dequeue = at+100, 1, at+9_000
		}
	}
	return stamps
}

func encodedStamps(t testing.TB, stamps []Stamps) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := EncodeStamps(&b, stamps); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestStampsRoundTrip(t *testing.T) {
	t.Parallel()
	for name, want := range map[string][]Stamps{
		"none":    nil,
		"trial":   stamped(5000),
		"unasked": {{}, {Ready: 5}, {}},
		"edges":   {{Wrote: 1 << 60, Read: 1, Write: 1 << 61}, {Wrote: 1, Read: 1 << 62, Write: -1}},
	} {
		got, err := DecodeStamps(bytes.NewReader(encodedStamps(t, want)), len(want))
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: (-want +got)\n%s", name, diff)
		}
	}
}

func TestStampsAreNotRequests(t *testing.T) {
	t.Parallel()
	_, err := DecodeStamps(bytes.NewReader(encoded(t, sample(3))), 3)
	if want := "decoding stamps: header: not a schedlab stamps file"; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

// Stamps are never of more requests than the trial has.
func TestStampsOfTooManyRequests(t *testing.T) {
	t.Parallel()
	_, err := DecodeStamps(bytes.NewReader(encodedStamps(t, stamped(4))), 3)
	if want := "decoding stamps: count: 4 requests, and the file may hold 3"; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

func FuzzDecodeStamps(f *testing.F) {
	f.Add(encodedStamps(f, stamped(20)), false)
	f.Add([]byte("schedlab stamps\x01\x02\x03\x04"), true)
	f.Fuzz(func(t *testing.T, data []byte, zip bool) {
		if zip {
			data = zipped(data)
		}
		stamps, err := DecodeStamps(bytes.NewReader(data), 1000)
		if err != nil {
			return
		}
		again, err := DecodeStamps(bytes.NewReader(encodedStamps(t, stamps)), len(stamps))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(stamps, again); diff != "" {
			t.Fatal(diff)
		}
	})
}
