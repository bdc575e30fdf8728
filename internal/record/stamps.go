package record

import "io"

// Stamps are where one request's time went, in nanoseconds from the start of the
// trial's attack, as a Request's times; 0 is what was not stamped, and what was
// before the start is 1. The client's are there whenever it got that far. The
// server's are there if it was asked and its answer joined: Write says so.
type Stamps struct {
	Ready int64 // client: the request had an open connection
	Wrote int64 // before it was written
	First int64 // the first byte of the answer had come

	Accept   int64 // server: its connection was accepted, if it was that one's first
	Received int64 // the kernel had it, where the kernel was asked
	Read     int64 // its first byte was read
	Enqueue  int64 // it, or its connection unread, was put into a queue
	Dequeue  int64 // and taken out
	Begin    int64 // the handler began
	End      int64 // and returned
	Write    int64 // before the first write of the answer
}

// Joined reports whether the server's stamps are there.
func (s Stamps) Joined() bool { return s.Write != 0 }

// stampsLayout is version 1: each field as its distance from the write of the
// request, moved by one so that 0 is what was not stamped.
func stampsLayout() layout[Stamps] {
	l := layout[Stamps]{what: "stamps", magic: "schedlab stamps", version: 1}
	add := func(name string, field func(*Stamps) *int64, from func(s, prev *Stamps) int64) {
		l.columns = append(l.columns, column[Stamps]{name,
			func(s, prev Stamps) int64 {
				at := *field(&s)
				if at == 0 {
					return 0
				}
				d := at - from(&s, &prev)
				if d >= 0 {
					d++
				}
				return d
			},
			func(s *Stamps, prev Stamps, v int64) bool {
				switch {
				case v > 0:
					*field(s) = from(s, &prev) + v - 1
				case v < 0:
					*field(s) = from(s, &prev) + v
				}
				return true
			},
		})
	}
	add("wrote", func(s *Stamps) *int64 { return &s.Wrote }, func(_, prev *Stamps) int64 { return prev.Wrote })
	wrote := func(s, _ *Stamps) int64 { return s.Wrote }
	for _, c := range []struct {
		name  string
		field func(*Stamps) *int64
	}{
		{"ready", func(s *Stamps) *int64 { return &s.Ready }},
		{"first", func(s *Stamps) *int64 { return &s.First }},
		{"accept", func(s *Stamps) *int64 { return &s.Accept }},
		{"received", func(s *Stamps) *int64 { return &s.Received }},
		{"read", func(s *Stamps) *int64 { return &s.Read }},
		{"enqueue", func(s *Stamps) *int64 { return &s.Enqueue }},
		{"dequeue", func(s *Stamps) *int64 { return &s.Dequeue }},
		{"begin", func(s *Stamps) *int64 { return &s.Begin }},
		{"end", func(s *Stamps) *int64 { return &s.End }},
		{"write", func(s *Stamps) *int64 { return &s.Write }},
	} {
		add(c.name, c.field, wrote)
	}
	return l
}

// EncodeStamps writes stamps in the columnar format of stamps.col.gz. It refuses
// more than MaxRequests.
func EncodeStamps(w io.Writer, stamps []Stamps) error { return stampsLayout().encode(w, stamps) }

// DecodeStamps reads what EncodeStamps wrote, as Decode does, and refuses the stamps of more
// than most requests.
func DecodeStamps(r io.Reader, most int) ([]Stamps, error) { return stampsLayout().decode(r, most) }
