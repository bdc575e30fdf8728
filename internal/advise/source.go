package advise

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
// columns, From of the demand names the one used. With fewer than 1,000 times the demand has a
// doubt. Errors name file and line.
func ReadCSV(r io.Reader, file, column, unit string) (Demand, error) {
	scale, ok := units[unit]
	if !ok {
		return Demand{}, fmt.Errorf("unit %q is none of s, ms, us, ns", unit)
	}
	rows := csv.NewReader(r)
	// Rows may differ in length. The reader reuses its row, so nothing keeps one.
	rows.FieldsPerRecord, rows.ReuseRecord, rows.TrimLeadingSpace = -1, true, true
	at := times{column: column, index: -1}
	var samples []time.Duration
	for first := true; ; first = false {
		row, err := rows.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return Demand{}, fmt.Errorf("reading %s: %w", file, err)
		}
		// A named column has its name in a header. Without a name, a header is a first row in which
		// nothing is a number.
		if first && (column != "" || len(numeric(row)) == 0) {
			err = at.read(row)
		} else {
			var took time.Duration
			took, err = at.of(row, scale)
			samples = append(samples, took)
		}
		if err != nil {
			line, _ := rows.FieldPos(0)
			return Demand{}, fmt.Errorf("%s:%d: %w", file, line, err)
		}
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

// times is the column of the times. It is chosen by the header or by the first row with numbers,
// and every later row is then read by its index.
type times struct {
	column string   // as the user named it; "" for the only column of numbers
	header []string // the first row, if it is a header
	index  int      // of the column, from 0; -1 before it is chosen
	name   string   // like " (column took)"; "" if there is one column
}

// read stores the header row, and chooses the named column.
func (t *times) read(row []string) error {
	for _, name := range row {
		t.header = append(t.header, strings.TrimSpace(name))
	}
	if t.column == "" {
		return nil
	}
	i := slices.Index(t.header, t.column)
	if i < 0 {
		return fmt.Errorf("no column %q; the header has %s", t.column, strings.Join(row, ", "))
	}
	t.choose(i, row)
	return nil
}

// of returns the time in a row. Without a named column, it chooses the first of numbers, and no other
// may have numbers in any row.
func (t *times) of(row []string, scale time.Duration) (time.Duration, error) {
	if t.column == "" {
		// A second column of numbers in any row makes the choice a guess, so it is an error.
		// append's 0 is for a row without numbers: timeOf then complains about its first cell.
		numbers := numeric(row)
		if t.index < 0 {
			t.choose(append(numbers, 0)[0], row)
		}
		if all := slices.Compact(slices.Sorted(slices.Values(append(numbers, t.index)))); len(all) > 1 {
			return 0, t.several(all)
		}
	}
	if t.index >= len(row) {
		return 0, fmt.Errorf("%d columns, and the times are in column %d", len(row), t.index+1)
	}
	return timeOf(row[t.index], scale)
}

// choose chooses the column at index.
func (t *times) choose(index int, row []string) {
	t.index = index
	if len(row) > 1 {
		t.name = fmt.Sprintf(" (column %s)", t.title(index))
	}
}

// title returns a column's name in the header, or its number from 1.
func (t *times) title(index int) string {
	if index < len(t.header) && t.header[index] != "" {
		return t.header[index]
	}
	return strconv.Itoa(index + 1)
}

// several returns the error for more than one column of numbers. It tells how to choose one: by
// name if there is a header.
func (t *times) several(numbers []int) error {
	var names []string
	for _, i := range numbers {
		names = append(names, t.title(i))
	}
	all := strings.Join(names, ", ")
	if t.header == nil {
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
