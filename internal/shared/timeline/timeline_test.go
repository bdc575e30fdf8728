package timeline_test

import (
	"bytes"
	"io"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"schedlab/internal/shared/timeline"
)

// The clock is the machine's: another process reads the same.
func TestNowIsTheMachinesClock(t *testing.T) {
	for range 100 {
		var before, after unix.Timespec
		if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &before); err != nil {
			t.Skip("NOT RUN: no CLOCK_MONOTONIC here")
		}
		now := timeline.Now()
		if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &after); err != nil {
			t.Fatal(err)
		}
		const slack = int64(time.Microsecond)
		if now < before.Nano()-slack || now > after.Nano()+slack {
			t.Fatalf("Now() = %d, want between %d and %d", now, before.Nano(), after.Nano())
		}
	}
}

func TestAtAgreesWithNow(t *testing.T) {
	before := timeline.Now()
	at := timeline.At(time.Now())
	if after := timeline.Now(); at < before || at > after {
		t.Errorf("At(now) = %d, want between %d and %d", at, before, after)
	}
}

// Whatever the stamps are, the parts add up to the response time; and stamps in
// their order make no part negative.
func TestPartsAddUp(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 100_000 {
		at := make([]int64, 14)
		for i := range at {
			at[i] = 1 + rng.Int64N(1000)
		}
		slices.Sort(at)
		c := timeline.Client{Scheduled: at[0], Sent: at[1], Ready: at[2], Wrote: at[3], First: at[12], Done: at[13]}
		s := timeline.Server{Read: at[7], Begin: at[9], End: at[10], Write: at[11]}
		if rng.IntN(2) == 0 {
			s.Accept = at[rng.IntN(8)]
		}
		if rng.IntN(2) == 0 {
			s.Received = at[rng.IntN(8)]
		}
		switch rng.IntN(3) {
		case 0: // the request was queued
			s.Enqueue, s.Dequeue = at[8], at[8]+(at[9]-at[8])/2
		case 1: // its connection was, unread
			s.Enqueue, s.Dequeue = at[rng.IntN(7)], at[6]
		}
		p := timeline.Split(c, s)
		if sum(p) != c.Done-c.Scheduled {
			t.Fatalf("%+v %+v: the parts %v add up to %d, want %d", c, s, p, sum(p), c.Done-c.Scheduled)
		}
		if part, negative := p.Negative(); negative {
			t.Fatalf("%+v %+v: %v is %d", c, s, part, p[part])
		}
		if p := timeline.Unjoined(c); sum(p) != c.Done-c.Scheduled {
			t.Fatalf("%+v unjoined: the parts %v add up to %d, want %d", c, p, sum(p), c.Done-c.Scheduled)
		}
	}
}

func sum(p timeline.Parts) (all int64) {
	for _, d := range p {
		all += d
	}
	return all
}

// A wait is on the part that has caused it.
func TestWhereTimeGoes(t *testing.T) {
	c := timeline.Client{Scheduled: 100, Sent: 110, Ready: 130, Wrote: 140, First: 900, Done: 910}
	handled := timeline.Server{Read: 400, Begin: 500, End: 700, Write: 720}
	with := func(change func(*timeline.Server)) timeline.Server {
		s := handled
		change(&s)
		return s
	}
	for _, test := range []struct {
		what   string
		server timeline.Server
		want   map[timeline.Part]int64
	}{
		{"nothing special", handled, map[timeline.Part]int64{
			timeline.Lag: 10, timeline.Connect: 20, timeline.Build: 10, timeline.Ingress: 260, timeline.Parse: 100,
			timeline.Service: 200, timeline.Finish: 20, timeline.Egress: 180, timeline.Receive: 10}},
		{"accepted late", with(func(s *timeline.Server) { s.Accept = 300 }),
			map[timeline.Part]int64{timeline.Accept: 160, timeline.Ingress: 100}},
		{"accepted before", with(func(s *timeline.Server) { s.Accept = 120 }),
			map[timeline.Part]int64{timeline.Accept: 0, timeline.Ingress: 260}},
		{"received and not read", with(func(s *timeline.Server) { s.Received = 150 }),
			map[timeline.Part]int64{timeline.Ingress: 10, timeline.Wakeup: 250}},
		{"queued", with(func(s *timeline.Server) { s.Enqueue, s.Dequeue = 410, 490 }),
			map[timeline.Part]int64{timeline.Parse: 10, timeline.Queue: 80, timeline.Handover: 10}},
		{"its connection queued", with(func(s *timeline.Server) { s.Enqueue, s.Dequeue = 150, 390 }),
			map[timeline.Part]int64{timeline.Ingress: 20, timeline.Queue: 240, timeline.Parse: 100}},
		{"its connection queued before it came", with(func(s *timeline.Server) { s.Enqueue, s.Dequeue = 50, 390 }),
			map[timeline.Part]int64{timeline.Ingress: 10, timeline.Queue: 250}},
		{"its connection queued and served long before", with(func(s *timeline.Server) { s.Enqueue, s.Dequeue = 50, 60 }),
			map[timeline.Part]int64{timeline.Ingress: 260, timeline.Queue: 0}},
	} {
		got := timeline.Split(c, test.server)
		for part, want := range test.want {
			if got[part] != want {
				t.Errorf("%s: %v is %d, want %d", test.what, part, got[part], want)
			}
		}
	}
}

func TestRingKeepsTheNewest(t *testing.T) {
	r := timeline.NewRing(3)
	put := func(seqs ...uint64) {
		for _, n := range seqs {
			r.Put(timeline.Server{Seq: n})
		}
	}
	since := func(n uint64) (seqs []uint64, put, lost uint64) {
		stamps, put, lost := r.Since(n)
		for _, s := range stamps {
			seqs = append(seqs, s.Seq)
		}
		return seqs, put, lost
	}
	put(10, 11)
	if seqs, put, lost := since(0); !slices.Equal(seqs, []uint64{10, 11}) || put != 2 || lost != 0 {
		t.Errorf("after two: got %v, %d put, %d lost", seqs, put, lost)
	}
	put(12, 13, 14)
	if seqs, put, lost := since(1); !slices.Equal(seqs, []uint64{12, 13, 14}) || put != 5 || lost != 1 {
		t.Errorf("after five, from the second: got %v, %d put, %d lost", seqs, put, lost)
	}
	if stamps, older := r.Newest(2); len(stamps) != 2 || stamps[0].Seq != 13 || older != 3 {
		t.Errorf("the newest two: got %v after %d older, want 13 and 14 after 3", stamps, older)
	}
	if stamps, older := r.Newest(timeline.MaxRing); len(stamps) != 3 || older != 2 {
		t.Errorf("the newest: got %v after %d older, want 3 after 2", stamps, older)
	}
	if seqs, put, lost := since(5); len(seqs) != 0 || put != 5 || lost != 0 {
		t.Errorf("nothing new: got %v, %d put, %d lost", seqs, put, lost)
	}
}

// Somebody who reads a large ring does not keep requests from it meanwhile: many are put during a read,
// where one put would wait for its end. The most of several reads counts: the machine may be busy.
func TestReadersDelayPutsLittle(t *testing.T) {
	const size = 1 << 20
	r := timeline.NewRing(size)
	for range size {
		r.Put(timeline.Server{})
	}
	most := 0
	for range 10 {
		begun, read := make(chan struct{}), make(chan struct{})
		go func() {
			close(begun)
			r.Since(0)
			close(read)
		}()
		<-begun
		for puts, done := 0, false; !done; puts++ {
			r.Put(timeline.Server{})
			select {
			case <-read:
				done, most = true, max(most, puts)
			default:
			}
		}
	}
	if most < 1000 {
		t.Errorf("%d puts at most during a read, want thousands", most)
	}
}

func TestWireKeepsEverything(t *testing.T) {
	want := []timeline.Server{
		{Seq: 7, Accept: 1, Received: 2, Read: 3, Enqueue: 4, Dequeue: 5, Begin: 6, End: 7, Write: 8},
		{Seq: timeline.Unnumbered, Read: -1},
	}
	var b bytes.Buffer
	if err := timeline.Write(&b, want); err != nil {
		t.Fatal(err)
	}
	whole := b.String()
	got, err := timeline.Read(&b)
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("got %+v, %v; want %+v", got, err, want)
	}
	for _, bad := range []string{"", "HTTP/1.1 404", whole[:len(whole)-1]} {
		if _, err := timeline.Read(strings.NewReader(bad)); err == nil {
			t.Errorf("reading %.30q: no error", bad)
		}
	}
}

func FuzzRead(f *testing.F) {
	var b bytes.Buffer
	if err := timeline.Write(&b, []timeline.Server{{Seq: 1, Read: 2}}); err != nil {
		f.Fatal(err)
	}
	f.Add(b.Bytes())
	f.Fuzz(func(t *testing.T, data []byte) {
		stamps, err := timeline.Read(bytes.NewReader(data))
		if err != nil {
			return
		}
		var again bytes.Buffer
		if err := timeline.Write(&again, stamps); err != nil || !bytes.Equal(again.Bytes(), data) {
			t.Errorf("read and written again it is another stream: %v", err)
		}
	})
}

func BenchmarkNow(b *testing.B) {
	for b.Loop() {
		timeline.Now()
	}
}

func BenchmarkPut(b *testing.B) {
	r := timeline.NewRing(1 << 16)
	var s timeline.Server
	b.ReportAllocs()
	for b.Loop() {
		r.Put(s)
	}
}

func BenchmarkWrite(b *testing.B) {
	stamps := make([]timeline.Server, 10_000)
	for b.Loop() {
		if err := timeline.Write(io.Discard, stamps); err != nil {
			b.Fatal(err)
		}
	}
}

// The page for readers has every part, in the order in which they pass.
func TestPageListsTheParts(t *testing.T) {
	page, err := os.ReadFile("../../../docs/reference/timeline.md")
	if err != nil {
		t.Fatal(err)
	}
	at := 0
	for part := range timeline.NumParts {
		row := strings.Index(string(page)[at:], "\n| "+part.String()+" |")
		if row < 0 {
			t.Fatalf("docs/reference/timeline.md has no row for %v, after those before it", part)
		}
		at += row + 1
	}
}

func TestUnread(t *testing.T) {
	for name, c := range map[string]struct {
		s    timeline.Server
		want int64
	}{
		"no queue":                             {timeline.Server{Received: 5, Read: 10}, 5},
		"received while the connection queued": {timeline.Server{Received: 5, Enqueue: 3, Dequeue: 7, Read: 10}, 7},
		"received after that":                  {timeline.Server{Received: 8, Enqueue: 3, Dequeue: 7, Read: 10}, 8},
		"read as it left the queue":            {timeline.Server{Received: 5, Enqueue: 3, Dequeue: 10, Read: 10}, 10},
		"more of it came after the read began": {timeline.Server{Received: 12, Read: 10}, 10},
		"queued after it was read":             {timeline.Server{Received: 5, Read: 10, Enqueue: 11, Dequeue: 15}, 5},
	} {
		if got := c.s.Unread(); got != c.want {
			t.Errorf("%s: unread since %d, want %d", name, got, c.want)
		}
	}
}
