package report

import (
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"schedlab/internal/capabilities/capacity"
	"schedlab/internal/measuring/report/document"
	"schedlab/internal/shared/record"
	"schedlab/internal/shared/responses"
	"schedlab/internal/shared/stats"
)

// drawable is a comparison of these arms, the first of which is the baseline. Each has a distribution, and each but the first a
// verdict on p99.
func drawable(verdict stats.Decision, names ...string) *record.Comparison {
	c := &record.Comparison{Valid: 12}
	for i, name := range names {
		h := responses.NewHistogram()
		for k := range 1000 {
			h.Record(time.Duration(k+1) * time.Microsecond)
		}
		a := record.Arm{Contestant: record.Contestant{Name: name, Role: record.Challenger}, Details: record.Details{Curve: h.Curve()}}
		if i == 0 {
			a.Role = record.Baseline
		} else {
			c.Verdicts = append(c.Verdicts, record.Verdict{Metric: stats.P99, Primary: true, Baseline: names[0], Arm: name, Verdict: verdict, Ratio: 1.3, Low: 1.2, High: 1.4, Blocks: 12, Lost: 12})
		}
		c.Arms = append(c.Arms, a)
	}
	twin := c.Arms[0]
	twin.Name, twin.Role = twin.Name+"'", record.Copy
	c.Arms = append(c.Arms, twin)
	return c
}

// Several runs have one forest, in which an arm's verdicts on a metric stand below each other, and one chart of percentiles. An arm has one
// colour in all, and each run its own dashes.
func TestTogether(t *testing.T) {
	t.Parallel()
	drawings, figures := Together([]Labelled{
		{"A", drawable(stats.Decided(stats.Slower), "nethttp", "<pool>")}, {"B", new(capacity.Search)}, {"C", drawable(stats.Decided(stats.Same), "nethttp", "fasthttp", "<pool>")},
	})
	text, err := document.Fragment(drawings...)
	if err != nil {
		t.Fatal(err)
	}
	page := string(text)
	heads := regexp.MustCompile(`</svg>([^<]+)</th></tr>|<th scope="row">(p99[^<]*)</th>\n<td><span class="verdict (\w+)">`).FindAllStringSubmatch(page, -1)
	var rows []string
	for _, h := range heads {
		rows = append(rows, strings.TrimSpace(h[1]+h[2]+" "+h[3]))
	}
	if diff := cmp.Diff([]string{"&lt;pool&gt; against nethttp", "p99, A SLOWER", "p99, C SAME", "fasthttp against nethttp", "p99, C SAME"}, rows); diff != "" {
		t.Errorf("the forest (-want +got):\n%s", diff)
	}
	lines := map[string]string{}
	for _, l := range regexp.MustCompile(`<li><svg class="swatch"[^>]*><line class="line ([^"]+)"[^>]*/></svg>([^<]+)</li>`).FindAllStringSubmatch(page, -1) {
		lines[l[2]] = l[1]
	}
	pool, _ := strings.CutSuffix(lines["&lt;pool&gt;, A"], " run0")
	fast, _ := strings.CutSuffix(lines["fasthttp, C"], " run2")
	want := map[string]string{"nethttp, A": "base run0", "&lt;pool&gt;, A": pool + " run0", "nethttp, C": "base run2", "fasthttp, C": fast + " run2", "&lt;pool&gt;, C": pool + " run2"}
	if diff := cmp.Diff(want, lines); diff != "" || pool == fast || pool == "" {
		t.Errorf("the lines of the percentiles, %s and %s (-want +got):\n%s", pool, fast, diff)
	}
	if strings.Contains(page, "<pool>") || strings.Contains(page, " id=") {
		t.Errorf("a name is not escaped, or an identifier may stand twice:\n%s", page)
	}

	if figures[1] != nil {
		t.Errorf("a search has the figures %v", figures[1])
	}
	for _, i := range []int{0, 2} {
		text, err := document.Fragment(figures[i]...)
		if err != nil || !strings.Contains(string(text), `<tr class="`+pool+`"><th scope="row">`) || strings.Contains(string(text), " id=") {
			t.Errorf("%d: %v: no row of the pool in its colour, or an identifier that may stand twice:\n%s", i, err, text)
		}
	}
}

// Where no result is a comparison, nothing is drawn.
func TestTogetherWithoutComparisons(t *testing.T) {
	t.Parallel()
	drawings, figures := Together([]Labelled{{"A", new(capacity.Search)}, {"B", &record.Comparison{}}})
	if len(drawings) != 0 || figures[0] != nil || figures[1] != nil {
		t.Errorf("got %v and %v", drawings, figures)
	}
}
