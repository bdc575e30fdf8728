// Package demo is a small scenario for tests.
package demo

import "strings"

// Text is a scenario without a fault; the tables below break it in one place.
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

// Swap is the text with one piece of it replaced, which must be there.
func Swap(old, new string) string {
	if !strings.Contains(Text, old) {
		panic("the demo has no " + old)
	}
	return strings.Replace(Text, old, new, 1)
}

// Arm is the text with another second arm.
func Arm(arm string) string { return Swap("- fasthttp", "- "+arm) }
