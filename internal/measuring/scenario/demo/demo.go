// Package demo is a small scenario for tests.
package demo

import "strings"

// Text is a valid scenario. Tests break it in one place.
const Text = `name: demo
question: Which is faster?
workload:
  cpu: 100us
load:
  rate: 300/s
arms:
  - nethttp
  - fasthttp
`

// Swap returns Text with old replaced by new. It panics if old is not in Text.
func Swap(old, new string) string {
	if !strings.Contains(Text, old) {
		panic("the demo has no " + old)
	}
	return strings.Replace(Text, old, new, 1)
}

// Arm returns Text with arm as its second arm.
func Arm(arm string) string { return Swap("- fasthttp", "- "+arm) }
