package sizing

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"schedlab/internal/record"
)

// units are the units of a CSV file's times.
var units = map[string]time.Duration{"s": time.Second, "ms": time.Millisecond, "us": time.Microsecond, "ns": time.Nanosecond}

// longestHeld is the longest time accepted in a file. A longer one suggests a wrong unit.
const longestHeld = time.Hour

// ReadCSV reads from a CSV file the times that a worker is held, one per row. file is the file's
// name in messages. column names the column; "" takes the only column of numbers. unit is s, ms, us
// or ns. A first row without numbers is a header; a named column needs one. If there are several
// columns, From of the demand names the one used. Errors name file and line.
func ReadCSV(r io.Reader, file, column, unit string) (Demand, error) {
	scale, ok := units[unit]
	if !ok {
		return Demand{}, fmt.Errorf("unit %q is none of s, ms, us, ns", unit)
	}
	rows := csv.NewReader(r)
	rows.FieldsPerRecord, rows.ReuseRecord, rows.TrimLeadingSpace = -1, true, true
	var at place
	var samples []time.Duration
	for {
		row, err := rows.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return Demand{}, fmt.Errorf("reading %s: %w", file, err)
		}
		line, _ := rows.FieldPos(0)
		if header, err := at.find(row, column); err != nil {
			return Demand{}, fmt.Errorf("%s:%d: %w", file, line, err)
		} else if header {
			continue
		}
		if at.index >= len(row) {
			return Demand{}, fmt.Errorf("%s:%d: %d columns, and the times are in column %d", file, line, len(row), at.index+1)
		}
		took, err := timeOf(row[at.index], scale)
		if err != nil {
			return Demand{}, fmt.Errorf("%s:%d: %w", file, line, err)
		}
		samples = append(samples, took)
	}
	if len(samples) == 0 {
		return Demand{}, fmt.Errorf("reading %s: no times in it; give one a row", file)
	}
	var doubts []record.Fact
	if len(samples) < 1000 {
		doubts = append(doubts, record.Fact{Code: sizeFewTimes, Values: record.Values{"times": float64(len(samples))}})
	}
	d := sampled(samples, fmt.Sprintf("%d times in %s%s", len(samples), file, at.name), doubts)
	if d.Held() == 0 {
		return Demand{}, fmt.Errorf("reading %s: all times are 0; nothing is held", file)
	}
	return d, nil
}

// A place is the column of the times.
type place struct {
	header []string
	begun  bool   // the first row has been read
	given  bool   // the user named the column
	taken  bool   // the column was chosen because only it has numbers
	index  int    // of the column, from 0
	name   string // like " (column took)"; "" if there is one column
}

// find chooses the column from the rows so far, and reports whether row is the header.
func (p *place) find(row []string, column string) (header bool, err error) {
	if p.given {
		return false, nil
	}
	numbers := numeric(row)
	if !p.begun {
		p.begun = true
		if header = column != "" || len(numbers) == 0; header {
			return true, p.read(row, column)
		}
	}
	if !p.taken {
		p.taken = true
		p.take(slices.Concat(numbers, []int{0})[0], row)
	}
	if all := slices.Compact(slices.Sorted(slices.Values(append(numbers, p.index)))); len(all) > 1 {
		return false, p.several(all)
	}
	return false, nil
}

// read stores the header row, and chooses the named column if column is not "".
func (p *place) read(row []string, column string) error {
	for _, name := range row {
		p.header = append(p.header, strings.TrimSpace(name))
	}
	if column == "" {
		return nil
	}
	i := slices.Index(p.header, column)
	if i < 0 {
		return fmt.Errorf("no column %q; the header has %s", column, strings.Join(row, ", "))
	}
	p.given = true
	p.take(i, row)
	return nil
}

// take chooses the column at index.
func (p *place) take(index int, row []string) {
	p.index = index
	if len(row) > 1 {
		p.name = fmt.Sprintf(" (column %s)", p.title(index))
	}
}

// title returns a column's name in the header, or its number from 1.
func (p *place) title(index int) string {
	if index < len(p.header) && p.header[index] != "" {
		return p.header[index]
	}
	return strconv.Itoa(index + 1)
}

// several returns the error for more than one column of numbers.
func (p *place) several(numbers []int) error {
	var names []string
	for _, i := range numbers {
		names = append(names, p.title(i))
	}
	all := strings.Join(names, ", ")
	if p.header == nil {
		return fmt.Errorf("columns %s have numbers, and there is no header to choose by; add one and name the times' with --column", all)
	}
	return fmt.Errorf("columns %s have numbers; choose the one of the times with --column", all)
}

// numeric returns the indices of the columns of a row that hold numbers.
func numeric(row []string) (columns []int) {
	for i, cell := range row {
		if _, err := strconv.ParseFloat(strings.TrimSpace(cell), 64); err == nil {
			columns = append(columns, i)
		}
	}
	return columns
}

// timeOf parses a time in units of scale, 0 to longestHeld.
func timeOf(text string, scale time.Duration) (time.Duration, error) {
	v, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
	ns := v * float64(scale)
	if err != nil || !(ns >= 0) {
		return 0, fmt.Errorf("%q is not a time; give a number of at least 0", text)
	}
	if ns > float64(longestHeld) {
		return 0, fmt.Errorf("%s is more than %v; is the unit right?", text, longestHeld)
	}
	return time.Duration(math.Round(ns)), nil
}
