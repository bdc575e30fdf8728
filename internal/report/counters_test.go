package report

import (
	"bytes"
	"regexp"
	"strings"
	"testing"

	"schedlab/internal/record"
)

// Where connections come and go, every report says how many were open, accepted and done;
// an arm that told nothing has no line.
func TestConnectionsOverTime(t *testing.T) {
	t.Parallel()
	r := comingAndGoing()
	for _, format := range []string{"text", "markdown"} {
		text := section(t, rendered(t, format, r), "Connections over time")
		if !strings.Contains(text, "150") || !strings.Contains(text, "370") || strings.Contains(text, "fasthttp") {
			t.Errorf("%s: got %s", format, text)
		}
	}
	page := rendered(t, "html", r)
	for _, want := range []string{"Connections of nethttp over the window", "Connections of pool over the window"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	if strings.Contains(page, "Connections of fasthttp") {
		t.Error("the page draws an arm that told nothing")
	}
	for width, want := range map[int]string{
		120: `most open  accepted/s\n(.*\n)*nethttp .* 150 +370\nfasthttp .* - +-\npool .* 30 +250\n`,
		100: `most open\n(.*\n)*nethttp .* 150\nfasthttp .* -\npool .* 30\n`,
		80:  `CPU/request\n`,
	} {
		if text := regexp.MustCompile(` +\n`).ReplaceAllString(inBrief(t, r, width), "\n"); !regexp.MustCompile(want).MatchString(text) {
			t.Errorf("in %d columns: got %s", width, text)
		}
	}
	golden(t, "testdata/connections.svg", firstChart(t, page))
}

// Kept connections have nothing to tell: only the whole text and the page do.
func TestKeptConnectionsSayNothing(t *testing.T) {
	t.Parallel()
	r := quick()
	if text := rendered(t, "markdown", r) + inBrief(t, r, 100); strings.Contains(text, "Connections over time") || strings.Contains(text, "most open") {
		t.Errorf("got %s", text)
	}
	for _, format := range []string{"text", "html"} {
		if text := rendered(t, format, r); !strings.Contains(text, "Connections over time") {
			t.Errorf("%s lacks them", format)
		}
	}
}

// section is a heading of a report and what follows it, to the next.
func section(t *testing.T, text, title string) string {
	t.Helper()
	_, rest, found := strings.Cut(text, title)
	if !found {
		t.Fatalf("no %q in %s", title, text)
	}
	rest, _, _ = strings.Cut(rest, "gainst the ideal twin")
	return rest
}

// inBrief is a brief report for a terminal so wide.
func inBrief(t *testing.T, r *record.Result, width int) string {
	t.Helper()
	var b bytes.Buffer
	if err := Brief(&b, r, TextOptions{Width: width}); err != nil {
		t.Fatal(err)
	}
	return strings.ReplaceAll(b.String(), nbsp, " ")
}

// firstChart is the first chart of connections of a page.
func firstChart(t *testing.T, page string) string {
	t.Helper()
	before, _, found := strings.Cut(page, `aria-label="Connections of`)
	if !found {
		t.Fatal("no chart")
	}
	chart, _, _ := strings.Cut(page[strings.LastIndex(before, "<svg"):], "</svg>")
	return chart + "</svg>\n"
}
