// Demo is a scenario for tests.
package experiment

import "strings"

// good is a scenario without a fault; the tables below break it in one place.
const good = `name: demo
question: Which is faster?
workload:
  cpu: 100us
load:
  rate: 300/s
arms:
  - nethttp
  - fasthttp
`

func swap(old, new string) string {
	if !strings.Contains(good, old) {
		panic("good has no " + old)
	}
	return strings.Replace(good, old, new, 1)
}

// armed is good with another second arm.
func armed(arm string) string { return swap("- fasthttp", "- "+arm) }
