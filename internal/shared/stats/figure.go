package stats

import (
	"encoding/json"
	"math"
)

// A Figure is a figure of a trial's window: the index of its row in the table of metrics. As text, in JSON too, it is the
// row's Name.
type Figure uint8

// The figures, in the order of the table, which tells what each is. The zero value is none of them.
const (
	NoFigure Figure = iota
	P50
	P90
	P99
	Goodput
	CPUPerRequest
	GoodMean
	Memory
	Capacity
	Mean
	Tail
	TwinMean
	Overhead
	Throughput
	Errors
	Loss
	Starved
	Served
	FirstReply
	Busy
	Accepted
	Done
	StillOpen
	Switches
	Loops
	Overflows
	InTime
	Retries
	Recovered
	Throttled
	Stops
	numFigures int = iota // their number, with NoFigure
)

// FigureOf returns the figure with this name; ok is false if there is none.
func FigureOf(name string) (f Figure, ok bool) {
	for f = P50; int(f) < numFigures; f++ {
		if metrics[f].Name == name {
			return f, true
		}
	}
	return NoFigure, false
}

// Row returns the figure's row of the table; of NoFigure, a Metric without name and sizes.
func (f Figure) Row() Metric { return metrics[f] }

// String returns the figure's name, such as p99; "" for NoFigure.
func (f Figure) String() string { return metrics[f].Name }

// MarshalText returns the figure's name.
func (f Figure) MarshalText() ([]byte, error) { return []byte(f.String()), nil }

// UnmarshalText reads a figure's name. A name that only another version knows, in its record, is NoFigure.
func (f *Figure) UnmarshalText(text []byte) error {
	*f, _ = FigureOf(string(text))
	return nil
}

// An Opt is a number that may not be known. The zero value is not known.
type Opt struct {
	value float64
	known bool
}

// Known returns v as a known number. NaN is what this package returns where there is nothing to compute from, so it is
// not known.
func Known(v float64) Opt {
	if math.IsNaN(v) {
		return Opt{}
	}
	return Opt{v, true}
}

// Get returns the number; ok is false, and v 0, if it is not known.
func (o Opt) Get() (v float64, ok bool) { return o.value, o.known }

// Or returns the number, or v if it is not known.
func (o Opt) Or(v float64) float64 {
	if o.known {
		return o.value
	}
	return v
}

// Float returns the number as the other functions of this package take it: NaN if it is not known.
func (o Opt) Float() float64 { return o.Or(math.NaN()) }

// Equal reports whether both are the same number, or both are not known.
func (o Opt) Equal(other Opt) bool { return o == other }

// Pointer returns a pointer to a copy of the number, for JSON; nil if it is not known.
func (o Opt) Pointer() *float64 {
	if !o.known {
		return nil
	}
	return &o.value
}

// Figures is a number for each figure. The zero value knows none. As JSON it is an object of the known ones by name.
type Figures [numFigures]Opt

// MarshalJSON writes the known figures.
func (f Figures) MarshalJSON() ([]byte, error) {
	known := map[Figure]float64{}
	for i, o := range f {
		if v, ok := o.Get(); ok {
			known[Figure(i)] = v
		}
	}
	return json.Marshal(known)
}

// UnmarshalJSON reads what MarshalJSON writes.
func (f *Figures) UnmarshalJSON(data []byte) error {
	var known map[Figure]float64
	if err := json.Unmarshal(data, &known); err != nil {
		return err
	}
	*f = Figures{}
	for i, v := range known {
		f[i] = Known(v)
	}
	f[NoFigure] = Opt{} // of names that only another version knows
	return nil
}

// Series is the values of each figure over blocks, in their order; nil for a figure without values. As JSON it is an object
// of the others by name.
type Series [numFigures][]float64

// MarshalJSON writes the figures that have values.
func (s Series) MarshalJSON() ([]byte, error) {
	all := map[Figure][]float64{}
	for i, v := range s {
		if v != nil {
			all[Figure(i)] = v
		}
	}
	return json.Marshal(all)
}

// UnmarshalJSON reads what MarshalJSON writes.
func (s *Series) UnmarshalJSON(data []byte) error {
	var all map[Figure][]float64
	if err := json.Unmarshal(data, &all); err != nil {
		return err
	}
	*s = Series{}
	for i, v := range all {
		s[i] = v
	}
	s[NoFigure] = nil // of names that only another version knows
	return nil
}
