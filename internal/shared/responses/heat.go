package responses

import "math"

// HeatSlices is the number of equal parts into which HeatCounts divides a window.
const HeatSlices = 12

// NoReply is the row of HeatCounts for requests without a reply: timed out, refused, reset or cut
// off. Rows below it are response times, ten to a decade: row i begins at HeatTime(i).
const NoReply = 80

// HeatCounts counts the requests of one window, by the slice in which they were scheduled and the
// row of their response time. Its size does not depend on the number of requests, so a run of any
// length can keep the counts of all its windows.
type HeatCounts [HeatSlices][NoReply + 1]uint32

// A Heat is the HeatCounts of one window. Valid tells whether its block counts in the figures.
type Heat struct {
	Block  int // from 1
	Valid  bool
	Counts *HeatCounts
}

// HeatTime returns the shortest response time of a row, in seconds: 1 µs for row 0.
func HeatTime(row int) float64 { return 1e-6 * math.Pow(10, float64(row)/10) }

// HeatRow returns the row of a response time in seconds. A time outside the rows gets the nearest.
func HeatRow(seconds float64) int {
	return min(int(10*math.Log10(max(seconds, 1e-6)/1e-6)), NoReply-1)
}
