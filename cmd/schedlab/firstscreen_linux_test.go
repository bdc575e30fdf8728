package main

import (
	"bytes"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"schedlab/internal/measuring/report"
	"schedlab/internal/measuring/report/document"
)

// Enlarge makes every chart of a report wider and higher.
func TestEnlarge(t *testing.T) {
	t.Parallel()
	chromium := need(t, "chromium")
	var page bytes.Buffer
	if err := report.HTML(&page, pictured()); err != nil {
		t.Fatal(err)
	}
	site, b := newSite(t, page.Bytes()), newTab(t, chromium)
	b.ask("Emulation.setDeviceMetricsOverride", `{"width":1440,"height":900,"deviceScaleFactor":1,"mobile":false}`)
	b.open("http://" + site.page())
	const try = `[...document.querySelectorAll("figure")].filter(f => f.querySelector("svg.chart")).map(f => {
		const size = () => { const r = f.querySelector("svg.chart").getBoundingClientRect(); return [r.width, r.height]; };
		const button = [...f.querySelectorAll(".tools button")].find(b => b.textContent === "Enlarge"), [wide, high] = size();
		button.click();
		const [wider, higher] = size();
		button.click();
		return wider > wide && higher > high;
	}).join(" ")`
	if got := b.eval(try); strings.Contains(got, "false") || !strings.HasPrefix(got, "true true") {
		t.Errorf("which charts grow: %q, want all", got)
	}
}

// The first screen of a report, 1440 pixels wide and 900 high, has the answer in at most twelve words, a word for each arm, their figures
// and the intervals of the ratios; the rest is below, with a list of its sections. On a phone nothing lies beside the page.
func TestFirstScreen(t *testing.T) {
	t.Parallel()
	chromium := need(t, "chromium")
	b := newTab(t, chromium)
	for name, arms := range map[string]int{"quick": 3, "swept": 8, "interrupted": 3} {
		page := read(t, filepath.Join(moduleRoot(t), "internal", "measuring", "report", "testdata", name+".html"))
		site := newSite(t, []byte(page))
		for _, screen := range [][2]int{{1440, 900}, {390, 844}} {
			b.ask("Emulation.setDeviceMetricsOverride", fmt.Sprintf(`{"width":%d,"height":%d,"deviceScaleFactor":1,"mobile":false}`, screen[0], screen[1]))
			b.open("http://" + site.page())
			number := func(js string) int {
				n, err := strconv.Atoi(b.eval(js))
				if err != nil {
					t.Fatal(err)
				}
				return n
			}
			if wide := number("document.documentElement.scrollWidth"); wide > screen[0] {
				t.Errorf("%s is %d pixels wide on a screen of %d", name, wide, screen[0])
			}
			if screen[0] < 1000 {
				continue
			}
			if foot := number(`Math.ceil(document.querySelector(".overview").getBoundingClientRect().bottom)`); foot > screen[1] {
				t.Errorf("%s: the figures end at %d of %d", name, foot, screen[1])
			}
			if rows := number(`document.querySelectorAll(".overview tbody tr").length`); rows != arms {
				t.Errorf("%s: %d rows of figures, want %d", name, rows, arms)
			}
			if words := document.Words(b.eval(`document.querySelector("h1").textContent`)); words > document.ShortWords {
				t.Errorf("%s: the answer has %d words", name, words)
			}
			if listed, sections := number(`document.querySelectorAll(".contents a").length`), number(`document.querySelectorAll("main > section").length`); listed != sections || listed == 0 {
				t.Errorf("%s lists %d of %d sections", name, listed, sections)
			}
		}
	}
}
