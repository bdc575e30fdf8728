//go:build !linux

package load

import "time"

// Off Linux this program measures neither CPU time nor limits.
func processTime() time.Duration              { return 0 }
func descriptorLimit() (n uint64, known bool) { return 0, false }

// Sleep is time.Sleep.
func Sleep(d time.Duration) { time.Sleep(d) }
