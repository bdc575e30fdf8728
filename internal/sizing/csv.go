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
)

// units are the units of a CSV file's times.
var units = map[string]time.Duration{"s": time.Second, "ms": time.Millisecond, "us": time.Microsecond, "ns": time.Nanosecond}

// longestHeld bounds a time in a file: what is longer is another unit.
const longestHeld = time.Hour

// ReadCSV reads the times a worker is held, one a row, from a CSV file, named file in
// messages: the column of that name, or the first when column is "". Unit is s, ms, us
// or ns. A first row without a number in the column is a header, and a named column
// needs one. Errors name file and line.
func ReadCSV(r io.Reader, file, column, unit string) (Demand, error) {
	scale, ok := units[unit]
	if !ok {
		return Demand{}, fmt.Errorf("unit %q is none of s, ms, us, ns", unit)
	}
	rows := csv.NewReader(r)
	rows.FieldsPerRecord, rows.ReuseRecord, rows.TrimLeadingSpace = -1, true, true
	index, first := 0, true
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
		if first {
			first = false
			header, err := place(row, column, &index)
			if err != nil {
				return Demand{}, fmt.Errorf("%s:%d: %w", file, line, err)
			}
			if header {
				continue
			}
		}
		if index >= len(row) {
			return Demand{}, fmt.Errorf("%s:%d: %d columns, and the times are in column %d", file, line, len(row), index+1)
		}
		took, err := timeOf(row[index], scale)
		if err != nil {
			return Demand{}, fmt.Errorf("%s:%d: %w", file, line, err)
		}
		samples = append(samples, took)
	}
	if len(samples) == 0 {
		return Demand{}, fmt.Errorf("reading %s: no times in it; give one a row", file)
	}
	var doubts []string
	if len(samples) < 1000 {
		doubts = append(doubts, fmt.Sprintf("%d times are few: the slowest of them stand for all tails", len(samples)))
	}
	d := sampled(samples, fmt.Sprintf("%d times in %s", len(samples), file), doubts)
	if d.Held() == 0 {
		return Demand{}, fmt.Errorf("reading %s: all times are 0; nothing is held", file)
	}
	return d, nil
}

// place finds the column in the first row, and says whether that row is a header.
func place(row []string, column string, index *int) (header bool, err error) {
	if column != "" {
		if *index = slices.IndexFunc(row, func(name string) bool { return strings.TrimSpace(name) == column }); *index < 0 {
			return false, fmt.Errorf("no column %q; the header has %s", column, strings.Join(row, ", "))
		}
		return true, nil
	}
	_, err = strconv.ParseFloat(strings.TrimSpace(row[0]), 64)
	return err != nil, nil
}

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
