package record

import "time"

// Duration converts seconds, the unit of times in records, to a time.Duration.
func Duration(seconds float64) time.Duration { return time.Duration(seconds * float64(time.Second)) }
