package report

import (
	"bytes"
	"strings"
	"testing"
)

const topicPage = `
<!-- chart
%s
-->
![Pools & goroutines](charts/pools.svg)

<!-- measured size: tools/experiments size writes this section -->
| arm | p50 | goodput | CPU/request |
|---|---:|---:|---:|
| one | 1.00 ms | 2,000/s | 30.0 µs |
| two | 1.29 ms +29 % (+18 % to +58 %) | 1,000/s -50 % (-52 % to -48 %) | 15.0 µs -50 % (-60 % to -40 %) |
| three (against two) | 999 µs = (-1.0 % to +1.0 %) | 5,400/s ×5.4 (+244 % to ×6.5) | 30.0 µs |
| a\\_b | 1.10 ms ~ (-9.0 % to +30 %) | - | - |
<!-- end -->
`

// A chart shows each cell of the page's table with its verdict. A change is better or worse by the
// metric, and a figure is drawn on an axis of its unit.
func TestTopicSVG(t *testing.T) {
	t.Parallel()
	for asked, wants := range map[string][]string{
		"changes size p50,goodput,CPU/request # words": {
			"<title id=\"title\">Pools &amp; goroutines</title>", ">size: words, against one<", ">size: words, against two<", ">a_b<",
			`class="worse"`, ">&#43;29 %, worse<", ">-50 %, worse<", ">-50 %, better<", ">×5.4, better<", ">same<", ">undecided<", ">no verdict<",
		},
		"figures size p50 one three": {">1.00 ms<", ">999 µs<", ">1 ms<", ">p50<"},
		"changes size p50 four":      {"error: ", "no arm four"},
		"changes size p95":           {"error: ", "no column p95"},
		"changes other p50":          {"error: ", "no table in this section"},
		"sizes size p50":             {"error: ", "give changes or figures"},
	} {
		var got bytes.Buffer
		if err := TopicSVG(&got, strings.Replace(topicPage, "%s", asked, 1)); err != nil {
			got.WriteString("error: " + err.Error())
		}
		text := strings.ReplaceAll(got.String(), nbsp, " ")
		for _, want := range wants {
			if !strings.Contains(text, want) {
				t.Errorf("%s: no %q in\n%s", asked, want, text)
			}
		}
	}
}
