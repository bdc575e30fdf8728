package main

import (
	"bufio"
	"compress/gzip"
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"schedlab/internal/shared/record"
)

// startUI starts `schedlab ui` on a port of its own, and returns the address that lets a browser in and a
// function that ends it by a signal.
func startUI(t *testing.T, out string) (address string, end func(syscall.Signal)) {
	t.Helper()
	cmd := exec.Command("schedlab", "ui", "--addr", "127.0.0.1:0", "--out", out)
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(stdout)
	if !lines.Scan() {
		t.Fatal("it prints no address")
	}
	address = lines.Text()
	ended := make(chan error, 1)
	go func() {
		for lines.Scan() {
		}
		ended <- cmd.Wait()
	}()
	once := false
	end = func(signal syscall.Signal) {
		t.Helper()
		if once {
			return
		}
		once = true
		_ = cmd.Process.Signal(signal)
		select {
		case err := <-ended:
			if err != nil && signal != syscall.SIGKILL {
				t.Errorf("schedlab ui: %v", err)
			}
		case <-time.After(scriptLimit):
			_ = cmd.Process.Kill()
			t.Errorf("schedlab ui did not end within %v of Ctrl-C", scriptLimit)
		}
	}
	t.Cleanup(func() { end(syscall.SIGINT) })
	return address, end
}

// opensAndRenews has live.js change details that a reader has opened, below a line that is new and beside one that goes.
const opensAndRenews = `(() => {
const part = html => Object.assign(document.createElement("div"), {innerHTML: html});
const old = part('<p id="a">gone</p><details id="d"><summary>Remarks: 1</summary><p>old</p></details>'), details = old.querySelector("details");
details.open = true;
renew(old, part('<p id="b">first</p><details id="d" class="more"><summary>Remarks: 2</summary><p>new</p></details>'));
const now = old.querySelector("details");
return [now === details, now.open, now.querySelector("summary").textContent.slice(-1), now.querySelector("p").textContent, old.querySelectorAll(":scope > p").length];
})()`

// TestUIInBrowser starts comparisons in a real Chromium, one by clicks and one by keys alone, watches the
// first to its end, stops the second, reads a report and puts both side by side. No page says an error,
// asks another host, is wider than its window, or lacks a name or contrast.
func TestUIInBrowser(t *testing.T) {
	t.Parallel()
	chromium := need(t, "chromium")
	runs := filepath.Join(t.TempDir(), "runs")
	address, end := startUI(t, runs)
	b := newTab(t, chromium)
	b.open(address)
	home, _, _ := strings.Cut(address, "?")
	if got := b.eval("location.href"); got != home {
		t.Errorf("the token leads to %s, want %s", got, home)
	}
	fits(t, b, "the empty page")

	// By clicks.
	b.eval("document.querySelector('#scenario').value = 'plaintext'")
	for _, mode := range []string{"nethttp", "fasthttp"} {
		b.click("input[value=" + mode + "]")
	}
	for field, value := range map[string]string{"#rate": "300/s", "#window": "100ms", "#budget": "20s"} {
		b.click(field)
		b.write(value)
	}
	b.click("#start")
	b.until("document.querySelector('#live-job').innerText.startsWith('running')")
	b.until("document.querySelectorAll('#live-figures tbody tr').length === 3 && document.querySelectorAll('#live-verdicts .forest path.dots').length > 0")
	fits(t, b, "a run under way")
	// Block by block, without a reload: an interval after some of them, an answer after the first look.
	b.until(`[...document.querySelectorAll('#live-figures tbody tr')].every(r => / to /.test(r.innerText))`)
	b.until("/^after \\d+ blocks: /.test(document.querySelector('#live-answer').innerText) || document.querySelector('#result')")
	b.until("document.querySelector('#result')")
	b.picture("ui-run.png", 1200)
	if got := b.eval("document.querySelector('#live-job').innerText"); !strings.HasPrefix(got, "done") {
		t.Errorf("it ended with %q:\n%s", got, b.eval("document.body.innerText"))
	}
	b.until("document.querySelector('#plan').innerText.includes('machine: ')") // which was not looked at meanwhile
	b.click("#result")
	b.until("location.pathname.startsWith('/runs/') && document.querySelector('table.figures') && document.querySelectorAll('button').length > 0") // its own script runs
	accessible(t, b, "a report")

	// The report leads to a form with its settings.
	report := b.eval("location.href")
	b.click("a[href$='/again#h-start']")
	b.until("location.pathname.endsWith('/again') && document.querySelector('#plan').innerText.includes('20 s at most')")
	settings := "[...document.querySelectorAll('[name=mode]:checked, #scenario, #rate, #window, #budget')].map(e => e.value).join(' ')"
	if got, want := b.eval(settings), "plaintext nethttp fasthttp 300/s 100ms 20s"; got != want {
		t.Errorf("run again with changes: the form has %s, want %s", got, want)
	}
	b.open(report)
	b.until("document.querySelectorAll('button').length > 0")
	b.eval("document.querySelector('details summary').click()")
	b.until("location.hash.includes(';open=')")
	b.eval("(() => { window.left = true; location.reload(); })()")
	b.until("!window.left && document.querySelector('details').open && document.querySelectorAll('button').length > 0")
	b.click(".around a")
	b.until("location.pathname === '/' && location.hash.startsWith('#run-') && document.querySelector('tr:target')")
	b.eval("history.back()")
	b.until("location.pathname.startsWith('/runs/') && document.querySelector('details').open")

	// By keys alone.
	b.open(home)
	b.reach("#scenario")
	b.write("plaintext")
	b.eval("document.querySelector('#scenario').value = 'plaintext'") // headless, a list does not open
	b.reach("input[value=nethttp]")
	b.press(" ")
	b.reach("input[value=fasthttp]")
	b.press(" ")
	for _, field := range [][2]string{{"#rate", "300/s"}, {"#window", "100ms"}, {"#budget", "5m"}} {
		b.reach(field[0])
		b.write(field[1])
	}
	b.press("Enter")
	b.until("document.querySelector('[id^=stop-]') && document.querySelectorAll('#live-figures tbody tr').length === 3") // not those of the first
	if got := b.eval(opensAndRenews); got != "true,true,2,new,1" {
		t.Errorf("what is opened stays while the parts of the page change: %s", got)
	}
	// What a reader does meanwhile outlives the news: the focus, what is chosen and scrolled.
	b.until("/^running, about \\d+[ms]/.test(document.querySelector('#live-jobs td:nth-child(3)')?.innerText)")
	b.eval("(() => { window.same = true; document.querySelector('#live-runs input').click(); })()")
	b.reach("[id^=stop-]")
	b.eval("(() => { scrollBy(0, 40); window.place = scrollY; })()")
	b.until("/^([3-9]|\\d\\d+)$/.test(document.querySelector('#live-figures tbody tr td')?.innerText)")
	if got := b.eval("[window.same, document.querySelector('#live-runs input').checked, document.activeElement.id.startsWith('stop-'), scrollY === window.place]"); got != "true,true,true,true" {
		t.Errorf("after news the page is the same, has its choice, its focus, its place: %s", got)
	}
	b.press("Enter")
	b.until("document.querySelector('#result') && document.querySelector('#live-job').innerText.startsWith('stopped') && document.querySelectorAll('#live-runs tr').length === 2")
	if got := b.eval("[window.same, document.querySelectorAll('#live-runs input')[1].checked, document.querySelectorAll('#live-jobs tr').length, document.querySelector('#live-runs td:nth-child(3)').innerText]"); got != "true,true,0,interrupted" {
		t.Errorf("the list at the end of the run: %s, want the new run, without a reload", got)
	}
	b.reach("#beside")
	b.press("Enter")
	if got := b.eval("document.querySelector('#chosen').textContent + document.querySelector('#chosen').closest('.list').querySelectorAll(':checked').length"); got != "Choose 2 to 4 runs; 1 is chosen.1" {
		t.Errorf("one run side by side: %q, want a word beside the button", got)
	}
	b.reach(".runs input:not(:checked)")
	b.press(" ")
	b.reach("#beside")
	b.press("Enter")
	b.until("document.querySelectorAll('.beside table.figures').length === 2 && /nethttp p50/.test(document.body.innerText)")
	if got := b.eval("[document.querySelectorAll('.together .forest').length, document.querySelectorAll('.together svg.chart').length, new Set([...document.querySelectorAll('.together .legend line')].map(l => getComputedStyle(l).stroke)).size]"); got != "1,1,2" {
		t.Errorf("one forest, one chart and a colour for each of two arms: %s", got)
	}
	fits(t, b, "two runs")
	b.picture("ui-beside.png", 1200)

	end(syscall.SIGINT)
	names, err := record.Runs(runs)
	if err != nil || len(names) != 2 {
		t.Fatalf("recorded %v, %v", names, err)
	}
	for i, want := range []record.Status{record.Interrupted, record.Complete} {
		if _, run, err := record.Open(names[i], runs); err != nil || run.Status != want || run.Result == nil {
			t.Errorf("%s is %s, %v, want %s with a result", names[i], run.Status, err, want)
		}
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.said) > 0 {
		t.Errorf("the console says %q", b.said)
	}
	if i := slices.IndexFunc(b.asked, func(url string) bool {
		return !strings.HasPrefix(url, home) && !strings.HasPrefix(url, "data:") && url != "about:blank"
	}); i >= 0 || len(b.asked) < 10 {
		t.Errorf("asked for %q, want %s alone", b.asked, home)
	}
}

// TestUIForgives makes mistakes in a real Chromium: the field is marked and has the focus, everything typed is still there,
// and the plan beside Start follows each change of the form. No page says an error in its console.
func TestUIForgives(t *testing.T) {
	t.Parallel()
	chromium := need(t, "chromium")
	runs := filepath.Join(t.TempDir(), "runs")
	address, _ := startUI(t, runs)
	b := newTab(t, chromium)
	b.open(address)
	plan := func(says string) {
		b.until(fmt.Sprintf("document.querySelector('#plan').innerText.includes(%q)", says))
	}
	b.click("a[href='/example/']")
	b.until("location.pathname === '/example/' && document.querySelectorAll('button').length > 0")
	accessible(t, b, "the example")
	b.click(".around a")
	b.until("location.pathname === '/'")
	plan("75 s at most")
	plan("machine: ")
	plan("CPUs: server")
	b.reach("#arm")
	b.write("pool,workers=2")
	plan("2 workers cannot keep up")
	b.picture("ui-form.png", 1000)
	fits(t, b, "the plan")
	b.reach("#rate")
	b.write("fast")
	plan("Rate: ")
	b.press("Enter")
	b.until("location.pathname === '/start' && document.readyState === 'complete'")
	wrong := "document.activeElement.id + ' ' + document.activeElement.getAttribute('aria-invalid') + ' ' + document.querySelector('#arm').value + ' ' + document.activeElement.value + ' ' + " +
		"document.getElementById(document.activeElement.getAttribute('aria-describedby').split(' ').at(-1)).innerText.includes('\"fast\" is')"
	if got, want := b.eval(wrong), "rate true pool,workers=2 fast true"; got != want {
		t.Errorf("after a mistake the focus, its mark, what was typed and whether it is told are %s, want %s", got, want)
	}
	fits(t, b, "a mistake")
	b.write(" 0/s")
	b.until("!document.querySelector('[aria-invalid]') && !document.querySelector('#rate-wrong').innerText")
	b.press("Enter")
	b.until("document.querySelector('#rate-wrong')?.innerText")
	// A mistake in a field that is folded away unfolds it.
	b.eval("(document.querySelector('#rate').value = '300/s', document.querySelector('#more').open = true)")
	b.reach("#seed")
	b.write("many")
	b.press("Enter")
	b.until("document.querySelector('#seed-wrong') && document.activeElement.id === 'seed' && document.readyState === 'complete'")
	fits(t, b, "a mistake below More settings")
	if names, _ := record.Runs(runs); len(names) > 0 {
		t.Errorf("this was started: %q", names)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.said) > 0 {
		t.Errorf("the console says %q", b.said)
	}
}

// Whether Ctrl-C ends the program or it is killed, the comparison that runs ends as by Ctrl-C, with its
// record, and none is left behind.
func TestUIEndsWithItsRun(t *testing.T) {
	t.Parallel()
	for _, signal := range []syscall.Signal{syscall.SIGINT, syscall.SIGKILL} {
		runs := filepath.Join(t.TempDir(), "runs")
		address, end := startUI(t, runs)
		jar, err := cookiejar.New(nil)
		if err != nil {
			t.Fatal(err)
		}
		browser := &http.Client{Jar: jar}
		reply, err := browser.Get(address)
		if err != nil {
			t.Fatal(err)
		}
		page, err := io.ReadAll(reply.Body)
		reply.Body.Close()
		token := regexp.MustCompile(`name="token" value="([^"]+)"`).FindSubmatch(page)
		if err != nil || token == nil {
			t.Fatalf("%v: no form in %s", err, page)
		}
		home, _, _ := strings.Cut(address, "?")
		reply, err = browser.PostForm(home+"start", url.Values{"token": {string(token[1])}, "scenario": {"plaintext"}, "mode": {"nethttp", "fasthttp"},
			"rate": {"300/s"}, "window": {"100ms"}, "budget": {"10m"}})
		if err != nil || reply.StatusCode != http.StatusOK {
			t.Fatalf("starting: %v, %v", reply, err)
		}
		reply.Body.Close()
		eventually(t, "three trials", func() (bool, string) {
			trials, err := filepath.Glob(filepath.Join(runs, "latest", "trials", "003-*"))
			return len(trials) > 0, fmt.Sprint(trials, err)
		})
		end(signal)
		eventually(t, fmt.Sprint(signal, ": an interrupted run with its result"), func() (bool, string) {
			_, run, err := record.Open("latest", runs)
			return err == nil && run.Status == record.Interrupted && run.Result != nil, fmt.Sprint(run.Status, err)
		})
		browser.CloseIdleConnections()
		// The comparison may still write its report.
		eventually(t, "the records removed", func() (bool, string) { err := os.RemoveAll(runs); return err == nil, fmt.Sprint(err) })
	}
}

// fits checks a page from a phone's to a large screen's width, dark and light: it has no horizontal
// scrolling, axe finds nothing, and text in charts, which axe does not see, has the contrast of WCAG AA.
func fits(t *testing.T, b *tab, what string) {
	t.Helper()
	const faint = `(() => {
const parse = c => { const m = c.match(/[\d.]+/g).map(Number); return m.length < 4 ? [...m, 1] : m; };
const light = c => { const [r, g, b] = c.map(v => v / 255).map(v => v <= .04045 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4); return .2126 * r + .7152 * g + .0722 * b; };
const behind = e => { for (; e; e = e.parentElement) { const c = parse(getComputedStyle(e).backgroundColor); if (c[3] > 0) return c; } return [255, 255, 255]; };
const bad = [];
for (const e of document.querySelectorAll("svg text")) {
  if (!e.getClientRects().length) continue;
  const a = light(parse(getComputedStyle(e).fill)), b = light(behind(e));
  const ratio = (Math.max(a, b) + .05) / (Math.min(a, b) + .05);
  if (ratio < 4.5) bad.push(ratio.toFixed(1) + " " + e.textContent.trim().slice(0, 30));
}
return bad.join("\n"); })()`
	for _, theme := range []string{"light", "dark"} {
		b.ask("Emulation.setEmulatedMedia", fmt.Sprintf(`{"features":[{"name":"prefers-color-scheme","value":%q}]}`, theme))
		for _, width := range []int{320, 768, 1280, 2560} {
			b.ask("Emulation.setDeviceMetricsOverride", fmt.Sprintf(`{"width":%d,"height":900,"deviceScaleFactor":1,"mobile":false}`, width))
			if got := b.eval("innerWidth + ' ' + (document.documentElement.scrollWidth - document.documentElement.clientWidth)"); got != fmt.Sprint(width, " 0") {
				t.Errorf("%s, %d px wide: its width, and what does not fit, are %s", what, width, got)
			}
		}
		if bad := b.eval(faint); bad != "" {
			t.Errorf("%s, %s:\n%s", what, theme, bad)
		}
		accessible(t, b, what+", "+theme)
	}
	b.ask("Emulation.clearDeviceMetricsOverride", `{}`)
}

// accessible has axe-core search the page for what keeps people out: contrast, names, keyboard, structure.
func accessible(t *testing.T, b *tab, what string) {
	t.Helper()
	file, err := os.Open(filepath.Join("testdata", "axe", "axe.min.js.gz"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	unpacked, err := gzip.NewReader(file)
	if err != nil {
		t.Fatal(err)
	}
	axe, err := io.ReadAll(unpacked)
	if err != nil {
		t.Fatal(err)
	}
	b.eval("(() => { if (!window.axe) { " + string(axe) + " } })()")
	found := b.eval(`axe.run().then(r => r.violations.map(v => v.impact + ": " + v.id + ": " + v.help + ": " + v.nodes.map(n => n.html.slice(0, 120)).join("; ")).join("\n") + (r.passes.length < 10 ? "only " + r.passes.length + " rules passed" : ""))`)
	if found != "" {
		t.Errorf("%s:\n%s", what, found)
	}
}
