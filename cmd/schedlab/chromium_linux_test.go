package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// A tab is a page in a real Chromium, driven over its DevTools protocol by pipes.
type tab struct {
	t       *testing.T
	session string
	to      *os.File

	mu      sync.Mutex
	id      int
	replies map[int]chan reply
	asked   []string // addresses that the page has asked for
	said    []string // errors and warnings of the console, and exceptions
}

type reply struct {
	Result json.RawMessage
	Error  *struct{ Message string }
}

// newTab starts a Chromium with an empty tab.
func newTab(t *testing.T, chromium string) *tab {
	t.Helper()
	in, to, err := os.Pipe()
	from, out, err2 := os.Pipe()
	if err := errors.Join(err, err2); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cmd := exec.CommandContext(ctx, chromium, "--headless", "--remote-debugging-pipe", "--no-sandbox", "--disable-gpu", "--disable-quic", "--disable-dev-shm-usage",
		"--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-extensions", "--disable-default-apps",
		"--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1", "--user-data-dir="+t.TempDir(), "about:blank")
	cmd.ExtraFiles, cmd.WaitDelay = []*os.File{in, out}, 30*time.Second // descriptors 3 and 4
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	in.Close()
	out.Close()
	b := onPipe(t, to)
	var reading sync.WaitGroup
	reading.Go(func() { b.read(from) })
	t.Cleanup(func() {
		_, _ = to.WriteString(`{"id":0,"method":"Browser.close"}` + "\x00")
		done := time.AfterFunc(20*time.Second, cancel)
		_ = cmd.Wait() // it may say that it was killed
		done.Stop()
		cancel()
		to.Close()
		from.Close()
		reading.Wait()
	})
	var target struct{ TargetID, SessionID string }
	b.into(&target, "Target.createTarget", `{"url":"about:blank"}`)
	b.into(&target, "Target.attachToTarget", fmt.Sprintf(`{"targetId":%q,"flatten":true}`, target.TargetID))
	b.session = target.SessionID
	for _, domain := range []string{"Page", "Runtime", "Log", "Network"} {
		b.ask(domain+".enable", `{}`)
	}
	return b
}

// onPipe returns a tab that sends its commands to a pipe. Somebody must call read for the answers.
func onPipe(t *testing.T, to *os.File) *tab {
	return &tab{t: t, to: to, replies: map[int]chan reply{}}
}

// read takes answers and events until the browser ends.
func (b *tab) read(from *os.File) {
	for messages := bufio.NewReader(from); ; {
		text, err := messages.ReadBytes(0)
		if err != nil {
			return
		}
		var m struct {
			reply
			ID     int
			Method string
			Params struct {
				Request          struct{ URL string }
				Type             string
				Entry            struct{ Level, Text, URL string }
				ExceptionDetails struct{ Text string }
			}
		}
		if json.Unmarshal(bytes.TrimSuffix(text, []byte{0}), &m) != nil {
			continue
		}
		b.mu.Lock()
		switch p := m.Params; {
		case b.replies[m.ID] != nil:
			b.replies[m.ID] <- m.reply
			delete(b.replies, m.ID)
		case m.Method == "Network.requestWillBeSent":
			b.asked = append(b.asked, p.Request.URL)
		case m.Method == "Runtime.exceptionThrown":
			b.said = append(b.said, p.ExceptionDetails.Text)
		case m.Method == "Runtime.consoleAPICalled" && (p.Type == "error" || p.Type == "warning"),
			m.Method == "Log.entryAdded" && (p.Entry.Level == "error" || p.Entry.Level == "warning"):
			b.said = append(b.said, string(text))
		}
		b.mu.Unlock()
	}
}

// ask sends a command and waits for its answer, which must not be an error.
func (b *tab) ask(method, params string) json.RawMessage {
	b.t.Helper()
	result, err := b.tryAsk(method, params)
	if err != nil {
		b.t.Fatalf("%s %s: %v", method, params, err)
	}
	return result
}

// errPageLeft means that a question met a navigation: the page that it was put to is gone, and the next is not there yet.
var errPageLeft = errors.New("the page was left while it was asked")

// tryAsk is ask that returns the browser's error. errors.Is tells errPageLeft.
func (b *tab) tryAsk(method, params string) (json.RawMessage, error) {
	b.t.Helper()
	answer := make(chan reply, 1)
	b.mu.Lock()
	b.id++
	b.replies[b.id] = answer
	session := ""
	if b.session != "" {
		session = fmt.Sprintf(`"sessionId":%q,`, b.session)
	}
	_, err := fmt.Fprintf(b.to, `{"id":%d,%s"method":%q,"params":%s}`+"\x00", b.id, session, method, params)
	b.mu.Unlock()
	if err != nil {
		b.t.Fatal(err)
	}
	select {
	case r := <-answer:
		switch {
		case r.Error == nil:
			return r.Result, nil
		case slices.Contains(leaving, strings.TrimSuffix(r.Error.Message, ".")):
			return nil, fmt.Errorf("%w: %s", errPageLeft, r.Error.Message)
		}
		return nil, errors.New(r.Error.Message)
	case <-time.After(childLimit):
		b.t.Fatalf("no answer to %s %s", method, params)
		return nil, nil
	}
}

// leaving is what Chromium answers to a question that meets a navigation: to another process's page,
// in the same process, and before the next page has a context for scripts.
var leaving = []string{"Inspected target navigated or closed", "Execution context was destroyed", "Cannot find default execution context"}

func (b *tab) into(v any, method, params string) {
	b.t.Helper()
	if err := json.Unmarshal(b.ask(method, params), v); err != nil {
		b.t.Fatal(err)
	}
}

// eval returns what an expression, or the promise that it is, gives in the page, as text. The page must stay meanwhile.
func (b *tab) eval(js string) string {
	b.t.Helper()
	value, err := b.tryEval(js)
	if err != nil {
		b.t.Fatalf("%s: %v", js, err)
	}
	return value
}

// tryEval is eval that returns the browser's error. errors.Is tells errPageLeft.
func (b *tab) tryEval(js string) (string, error) {
	b.t.Helper()
	text, err := json.Marshal("Promise.resolve(" + js + ").then(String)")
	if err != nil {
		b.t.Fatal(err)
	}
	var r struct {
		Result           struct{ Value string }
		ExceptionDetails *struct{ Exception struct{ Description string } }
	}
	answer, err := b.tryAsk("Runtime.evaluate", `{"awaitPromise":true,"expression":`+string(text)+`}`)
	if err != nil {
		return "", err
	}
	if err := json.Unmarshal(answer, &r); err != nil {
		return "", err
	}
	if r.ExceptionDetails != nil {
		return "", errors.New(r.ExceptionDetails.Exception.Description)
	}
	return r.Result.Value, nil
}

// until waits until an expression is true in the page, whatever page that is by then: a question that
// meets a navigation is put again. js must not hold in a page that is about to be left, for what follows
// would be asked of that page.
func (b *tab) until(js string) {
	b.t.Helper()
	eventually(b.t, js, func() (bool, string) {
		b.t.Helper()
		question := "document.readyState === 'complete' && !!(" + js + ")"
		value, err := b.tryEval(question + " || 'not yet in: ' + document.body?.innerText")
		if err != nil && !errors.Is(err, errPageLeft) {
			b.t.Fatalf("%s: %v", question, err)
		}
		return value == "true", fmt.Sprint(value, err)
	})
}

// open goes to an address.
func (b *tab) open(url string) {
	b.t.Helper()
	b.ask("Page.navigate", fmt.Sprintf(`{"url":%q}`, url))
	b.until("document.querySelector('h1')")
}

// click clicks into the middle of an element with the mouse.
func (b *tab) click(selector string) {
	b.t.Helper()
	var at struct{ X, Y float64 }
	where := fmt.Sprintf("(e => { e.scrollIntoView({block: 'center'}); const r = e.getBoundingClientRect(); return JSON.stringify({X: r.x + r.width/2, Y: r.y + r.height/2}); })(document.querySelector(%q))", selector)
	if err := json.Unmarshal([]byte(b.eval(where)), &at); err != nil {
		b.t.Fatal(err)
	}
	for _, kind := range []string{"mousePressed", "mouseReleased"} {
		b.ask("Input.dispatchMouseEvent", fmt.Sprintf(`{"type":%q,"x":%v,"y":%v,"button":"left","clickCount":1}`, kind, at.X, at.Y))
	}
}

// press presses a key: Tab, Enter, or a blank.
func (b *tab) press(key string) {
	b.t.Helper()
	code := map[string]int{"Tab": 9, "Enter": 13, " ": 32}[key]
	text := strings.NewReplacer("Tab", "", "Enter", "\r").Replace(key)
	b.ask("Input.dispatchKeyEvent", fmt.Sprintf(`{"type":"keyDown","key":%q,"code":%q,"windowsVirtualKeyCode":%d,"text":%q}`, key, strings.ReplaceAll(key, " ", "Space"), code, text))
	b.ask("Input.dispatchKeyEvent", fmt.Sprintf(`{"type":"keyUp","key":%q,"windowsVirtualKeyCode":%d}`, key, code))
}

// reach presses Tab until an element has the focus, which must then be seen.
func (b *tab) reach(selector string) {
	b.t.Helper()
	for range 300 {
		if b.eval(fmt.Sprintf("document.activeElement?.matches(%q)", selector)) == "true" {
			if b.eval("getComputedStyle(document.activeElement).outlineStyle") == "none" {
				b.t.Errorf("%s has the focus, and nobody sees it", selector)
			}
			return
		}
		b.press("Tab")
	}
	b.t.Fatalf("300 times Tab do not reach %s", selector)
}

// write types into the element that has the focus.
func (b *tab) write(text string) {
	b.t.Helper()
	b.ask("Input.insertText", fmt.Sprintf(`{"text":%q}`, text))
}

// picture writes the top of the page, of this height, as a PNG into the folder PICTURES if that is set: for docs/guide/ui.md.
func (b *tab) picture(name string, height int) {
	b.t.Helper()
	folder := os.Getenv("PICTURES")
	if folder == "" {
		return
	}
	b.ask("Emulation.setEmulatedMedia", `{"features":[{"name":"prefers-color-scheme","value":"light"}]}`)
	b.ask("Emulation.setDeviceMetricsOverride", fmt.Sprintf(`{"width":1100,"height":%d,"deviceScaleFactor":1,"mobile":false}`, height))
	b.eval("scrollTo(0, 0)")
	var shot struct{ Data []byte }
	b.into(&shot, "Page.captureScreenshot", `{"format":"png"}`)
	if err := os.WriteFile(filepath.Join(folder, name), shot.Data, 0o644); err != nil {
		b.t.Fatal(err)
	}
	b.ask("Emulation.clearDeviceMetricsOverride", `{}`)
}

// A question that meets a navigation is told from any other failure, and until puts it again.
func TestTabOutlivesNavigation(t *testing.T) {
	t.Parallel()
	const value = `"result":{"result":{"value":"true"}}`
	failed := func(message string) string { return fmt.Sprintf(`"error":{"code":-32000,"message":%q}`, message) }
	b := scriptedTab(t,
		failed("Inspected target navigated or closed"), failed("Execution context was destroyed."), value, // of until
		failed("Inspected target navigated or closed"), failed("Internal error"), `"result":{"exceptionDetails":{"exception":{"description":"TypeError: no"}}}`)
	b.until("document.querySelector('h1')")
	if _, err := b.tryEval("1"); !errors.Is(err, errPageLeft) {
		t.Errorf("a navigation: got %v, want %v", err, errPageLeft)
	}
	for _, want := range []string{"Internal error", "TypeError: no"} {
		if _, err := b.tryEval("1"); err == nil || errors.Is(err, errPageLeft) || err.Error() != want {
			t.Errorf("got %v, want %q and no navigation", err, want)
		}
	}
	if b.id != 6 {
		t.Errorf("asked %d times, want 6", b.id)
	}
}

// scriptedTab returns a tab of a browser that gives these answers, one to each command.
func scriptedTab(t *testing.T, answers ...string) *tab {
	t.Helper()
	commands, to, err := os.Pipe()
	from, out, err2 := os.Pipe()
	if err := errors.Join(err, err2); err != nil {
		t.Fatal(err)
	}
	b := onPipe(t, to)
	var browser sync.WaitGroup
	browser.Go(func() { b.read(from) })
	browser.Go(func() {
		defer out.Close()
		in := bufio.NewReader(commands)
		for _, answer := range answers {
			command, err := in.ReadString(0)
			var asked struct{ ID int }
			if err != nil || json.Unmarshal([]byte(strings.TrimSuffix(command, "\x00")), &asked) != nil {
				return
			}
			fmt.Fprintf(out, `{"id":%d,%s}`+"\x00", asked.ID, answer)
		}
	})
	t.Cleanup(func() {
		to.Close()
		browser.Wait()
		commands.Close()
		from.Close()
	})
	return b
}
