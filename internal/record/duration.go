package record

import "time"

// Duration is so many seconds, as records keep times.
func Duration(seconds float64) time.Duration { return time.Duration(seconds * float64(time.Second)) }
