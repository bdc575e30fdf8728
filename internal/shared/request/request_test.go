package request

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"io"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// sample is n requests as an open-loop trial makes them, every tenth failing.
func sample(n int) []Request {
	rng := rand.New(rand.NewPCG(1, 2))
	requests := make([]Request, n)
	var at int64
	for i := range requests {
		at += rng.Int64N(2e6)
		requests[i] = Request{
			Scheduled: at, Sent: at + rng.Int64N(1e5), Done: at + 1e5 + rng.Int64N(1e7),
			Bytes: 3, Status: 200, Iters: rng.Uint32N(1e5), Sleep: rng.Int64N(2) * 1e7,
		}
		if i%10 == 9 {
			requests[i].Sent, requests[i].Status, requests[i].Bytes, requests[i].Outcome = -1, 0, 0, End(1+i/10%4)
		}
	}
	return requests
}

func encoded(t testing.TB, requests []Request) []byte {
	t.Helper()
	var buf bytes.Buffer
	if err := Encode(&buf, requests); err != nil {
		t.Fatal(err)
	}
	return buf.Bytes()
}

func decoded(file []byte) ([]Request, error) {
	return Decode(bytes.NewReader(file), int64(len(file)), nil)
}

func TestRequestsRoundTrip(t *testing.T) {
	t.Parallel()
	edge := Request{Scheduled: math.MaxInt64, Sent: math.MinInt64, Done: -1, Bytes: math.MaxUint32,
		Status: math.MaxUint16, Outcome: Cut, Iters: math.MaxUint32, Sleep: math.MinInt64}
	for name, want := range map[string][]Request{
		"none":   nil,
		"one":    sample(1),
		"trial":  sample(5000),
		"edges":  {edge, {}, edge, {Scheduled: math.MinInt64, Sent: math.MaxInt64}},
		"unsent": {{Scheduled: 5, Sent: -1, Done: 9, Outcome: Cut}},
	} {
		got, err := decoded(encoded(t, want))
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: (-want +got)\n%s", name, diff)
		}
	}
}

func TestRequestsAreSmall(t *testing.T) {
	t.Parallel()
	const n = 10_000
	if got := float64(len(encoded(t, sample(n)))) / n; got > 20 {
		t.Errorf("%.1f bytes a request, want at most 20", got)
	}
}

func TestEncodeRefusesUnknownOutcome(t *testing.T) {
	t.Parallel()
	err := Encode(io.Discard, []Request{{}, {Outcome: 99}})
	if want := "encoding request 1: unknown outcome 99"; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

// zipped is the file with these uncompressed bytes.
func zipped(parts ...[]byte) []byte {
	var buf bytes.Buffer
	w := gzip.NewWriter(&buf)
	w.Write(bytes.Join(parts, nil))
	w.Close()
	return buf.Bytes()
}

func TestDecodeNamesWhatIsWrong(t *testing.T) {
	t.Parallel()
	good := encoded(t, sample(20))
	magic, v1 := []byte(requestsMagic), []byte{1}
	varints := func(v ...int64) (b []byte) {
		for _, v := range v {
			b = binary.AppendVarint(b, v)
		}
		return b
	}
	flipped := bytes.Clone(good)
	flipped[len(flipped)-6] ^= 1 // in gzip's sum
	for name, c := range map[string]struct {
		file []byte
		want string
	}{
		"empty":     {nil, "not a gzip file: unexpected EOF"},
		"foreign":   {[]byte(`{"schema":1}, not ours at all`), "not a gzip file"},
		"other":     {zipped([]byte("vegeta results, or something")), "not a schedlab requests file"},
		"short":     {zipped(magic[:4]), "header: unexpected EOF"},
		"newer":     {zipped(magic, []byte{3}), "format version 3, this schedlab reads version 2: use a newer schedlab"},
		"count":     {append(zipped(magic, v1, binary.AppendUvarint(nil, maxRequests+1)), make([]byte, maxRequests)...), "10000001 requests, and the file may hold 10000000"},
		"claim":     {zipped(magic, v1, binary.AppendUvarint(nil, maxRequests)), "10000000 requests, and the file may hold 20"},
		"cut":       {zipped(magic, v1, binary.AppendUvarint(nil, fewRequests)), `column "scheduled", request 0 of 20000, offset 21: unexpected EOF`},
		"truncated": {good[:len(good)/2], "unexpected EOF"},
		"sum":       {flipped, "checksum"},
		"range":     {zipped(magic, v1, []byte{1}, varints(5, 0, 0, 3, 65536)), `column "status", request 0 of 1, offset 23: difference 65536 leaves`},
		"outcome":   {zipped(magic, v1, []byte{1}, varints(5, 0, 0, 3, 200, int64(outcomes))), `column "outcome"`},
		"trailing":  {zipped(magic, v1, []byte{0}, []byte("x")), "data after the last column, offset 19"},
	} {
		_, err := decoded(c.file)
		if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: got %v, want one line with %q", name, err, c.want)
		}
	}
}

// A small file fills no memory: 2 million requests that are all the same are some 15 KB, and
// schedlab never wrote them.
func TestSmallFilesTakeLittleMemory(t *testing.T) {
	const n = 2_000_000
	file := encoded(t, make([]Request, n))
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, err := decoded(file)
	runtime.ReadMemStats(&after)
	if took := after.TotalAlloc - before.TotalAlloc; took > 1<<20 || err == nil {
		t.Errorf("%d bytes took %d of memory, error %v; want 1 MiB at most, and an error", len(file), took, err)
	}
	// Up to fewRequests any file is readable.
	if got, err := decoded(encoded(t, make([]Request, fewRequests))); err != nil || len(got) != fewRequests {
		t.Errorf("got %d requests, %v, want %d", len(got), err, fewRequests)
	}
}

func FuzzDecode(f *testing.F) {
	f.Add([]byte{}, true)
	f.Add(encoded(f, sample(30)), false)
	f.Add(append([]byte(requestsMagic), 1, 2, 3, 4), true)
	f.Add(append([]byte(requestsMagic), 1, 0xff, 0xff, 0xff, 0x7f), true)
	f.Fuzz(func(t *testing.T, data []byte, zip bool) {
		if zip { // spare the fuzzer from having to invent gzip's sums
			data = zipped(data)
		}
		requests, err := decoded(data)
		if err != nil {
			return
		}
		again, err := decoded(encoded(t, requests))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(requests, again); diff != "" {
			t.Fatal(diff)
		}
	})
}

func BenchmarkEncode(b *testing.B) {
	requests := sample(2000)
	for b.Loop() {
		_ = Encode(io.Discard, requests)
	}
}

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

func decodedStamps(file []byte) ([]Stamps, error) {
	return DecodeStamps(bytes.NewReader(file), int64(len(file)), nil)
}

func TestStampsRoundTrip(t *testing.T) {
	t.Parallel()
	for name, want := range map[string][]Stamps{
		"none":    nil,
		"trial":   stamped(5000),
		"unasked": {{}, {Ready: 5}, {}},
		"edges":   {{Wrote: 1 << 60, Read: 1, Write: 1 << 61}, {Wrote: 1, Read: 1 << 62, Write: -1}},
	} {
		got, err := decodedStamps(encodedStamps(t, want))
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
	_, err := decodedStamps(encoded(t, sample(3)))
	if want := "decoding stamps: header: not a schedlab stamps file"; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

// A small file of stamps fills no memory either.
func TestSmallFilesOfStampsTakeLittleMemory(t *testing.T) {
	t.Parallel()
	file := encodedStamps(t, make([]Stamps, 2_000_000))
	if _, err := decodedStamps(file); err == nil || !strings.Contains(err.Error(), "decoding stamps: count: 2000000 requests, and the file may hold ") {
		t.Errorf("%d bytes: got %v, want that they cannot hold so many", len(file), err)
	}
}

// What a slice held before does not show in what is decoded into it, and a slice with room is used.
func TestDecodeIntoUsedSpace(t *testing.T) {
	t.Parallel()
	used := stamped(5000)
	for i := range used {
		used[i].Accept, used[i].Received, used[i].Enqueue = 1, 2, 3
	}
	want := append([]Stamps{{}, {Ready: 5}}, stamped(4000)...)
	got, err := DecodeStamps(bytes.NewReader(encodedStamps(t, want)), 1, used)
	if diff := cmp.Diff(want, got); diff != "" || err != nil || &got[0] != &used[0] {
		t.Errorf("%v, in the space given: %v, (-want +got)\n%s", err, &got[0] == &used[0], diff)
	}
	old := sample(5000)
	slices.Reverse(old)
	requests, err := Decode(bytes.NewReader(encoded(t, sample(4000))), 1, old)
	if diff := cmp.Diff(sample(4000), requests); diff != "" || err != nil || &requests[0] != &old[0] {
		t.Errorf("%v, in the space given: %v, (-want +got)\n%s", err, &requests[0] == &old[0], diff)
	}
}

// One trial of ten seconds at 1,000 requests/s, into the space of the one before.
func BenchmarkDecode(b *testing.B) {
	const n = 10_000
	requests, stamps := encoded(b, sample(n)), encodedStamps(b, stamped(n))
	b.Run("of=requests", func(b *testing.B) {
		var space []Request
		for b.Loop() {
			space, _ = Decode(bytes.NewReader(requests), int64(len(requests)), space)
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/n, "ns/request")
	})
	b.Run("of=stamps", func(b *testing.B) {
		var space []Stamps
		for b.Loop() {
			space, _ = DecodeStamps(bytes.NewReader(stamps), int64(len(stamps)), space)
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/n, "ns/request")
	})
}

func FuzzDecodeStamps(f *testing.F) {
	f.Add(encodedStamps(f, stamped(20)), false)
	f.Add([]byte("schedlab stamps\x01\x02\x03\x04"), true)
	f.Fuzz(func(t *testing.T, data []byte, zip bool) {
		if zip {
			data = zipped(data)
		}
		stamps, err := decodedStamps(data)
		if err != nil {
			return
		}
		again, err := decodedStamps(encodedStamps(t, stamps))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(stamps, again); diff != "" {
			t.Fatal(diff)
		}
	})
}

// Each end of a request has its own words, and Mostly says what the most frequent one means.
func TestEnds(t *testing.T) {
	t.Parallel()
	words := map[string]End{}
	for o := range outcomes {
		if before, twice := words[o.String()]; twice || o.String() == "" {
			t.Errorf("outcomes %d and %d are both %q", before, o, o)
		}
		words[o.String()] = o
	}
	if got := (outcomes).String(); got != "unknown outcome" {
		t.Errorf("one too many is %q", got)
	}
	requests := []Request{
		{Outcome: Reset}, {Outcome: Reset}, {Status: 200}, {Status: 404}, {Status: 302}, {Outcome: TimedOut}, {Status: 299},
	}
	ends := FailedEnds(requests)
	if want := []string{"reset", "status 404", "timed out"}; !slices.Equal(Ends(ends), want) || ends["reset"] != 2 {
		t.Errorf("got %v, want %v", ends, want)
	}
	for want, ends := range map[string]map[string]int{
		"": nil,
		"2 of 4 times the server reset the connection": ends,
		"status 404 (Not Found)":                       {"status 404": 3},
		"status 999":                                   {"status 999": 3},
		"the port is closed, no server listens there; start the server, or mend the port": {"refused": 1},
	} {
		if got := Mostly(ends); got != want {
			t.Errorf("%v: got %q, want %q", ends, got, want)
		}
	}
	for status, want := range map[uint16]bool{299: false, 300: true, 301: true, 304: false, 308: true, 399: true, 400: false} {
		if Redirect(status) != want {
			t.Errorf("%d is a redirect: %v", status, !want)
		}
	}
}

// A file without classes and retries stays one of version 1, which an older schedlab reads, and says that there are none also
// where the memory for its requests had some.
func TestVersionIsTheOldestThatDoes(t *testing.T) {
	t.Parallel()
	plain := []Request{{Scheduled: 1, Sent: 2, Done: 3, Status: 200}, {Scheduled: 4, Sent: 5, Done: 6, Status: 503, Sleep: 7}}
	newer := slices.Clone(plain)
	newer[0].Class, newer[1].Retries = 3, 2
	for version, rows := range map[byte][]Request{1: plain, 2: newer} {
		var file bytes.Buffer
		if err := Encode(&file, rows); err != nil {
			t.Fatal(err)
		}
		if got := requestLayout().needed(rows); got != version {
			t.Errorf("got version %d, want %d", got, version)
		}
		used := []Request{{Class: 9, Retries: 9}, {Class: 9, Retries: 9}}
		got, err := Decode(bytes.NewReader(file.Bytes()), int64(file.Len()), used)
		if err != nil || !slices.Equal(got, rows) {
			t.Errorf("version %d: got %v, %v, want %v", version, got, err, rows)
		}
	}
}
