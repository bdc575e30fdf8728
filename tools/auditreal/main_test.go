package main

import (
	"strings"
	"testing"
)

// A command can be drawn again, is for its target, and is whole.
func TestDraws(t *testing.T) {
	t.Parallel()
	for i := range 2000 {
		of := tools[i%len(tools)]
		line := func() (string, *target) {
			d := newDraw(1, i)
			g := d.target(of, mockTargets())
			return of.line(d, g), g
		}
		got, g := line()
		if again, _ := line(); again != got {
			t.Fatalf("drawn %q and %q", got, again)
		}
		port := strings.Split(g.url, ":")[2][:4]
		if strings.Contains(got, "%!") || strings.Contains(got, "%") || !strings.Contains(got, port) {
			t.Errorf("of %s for %s: %q", of.name, g.url, got)
		}
	}
}

// Every answer of audit has one verdict, and is held to whether there was a good reply.
func TestVerdicts(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		code           int
		stdout, stderr string
		failed, good   bool
		want           verdict
		wrong          string
	}{
		{0, `{"runs":[{}],"findings":[{"outcome":"yes","code":"audit-failed"}],"not_read":[]}`, "", false, true, clean, ""},
		{0, `{"runs":[{}],"findings":[],"not_read":[]}`, "", false, false, clean, "called clean, and the target gave no good reply"},
		{3, `{"runs":[{}],"findings":[{"outcome":"no","code":"audit-order"}],"not_read":[{"line":3}]}`, "", false, true, impossible, "impossible"},
		{0, `{"runs":[{}],"findings":[],"not_read":[{"line":3,"text":"odd"}]}`, "", false, true, notRead, "not read"},
		{0, `{"runs":[{},{}],"findings":[],"not_read":[]}`, "", false, true, notRead, "not read"},
		{0, `{"runs":[{}],"findings":[{"outcome":"open","code":"audit-nothing"}],"not_read":[]}`, "", false, false, nothing, ""},
		{0, `{"runs":[{}],"findings":[{"outcome":"open","code":"audit-nothing"}],"not_read":[]}`, "", false, true, nothing, "called nothing measured, and the target gave good replies"},
		{2, "", "no run found", false, true, notRead, "not read"},
		{2, "", "no run found", true, false, gaveUp, ""},
	} {
		v, _, err := judge(c.code, c.stdout, c.stderr, c.failed)
		if err != nil {
			t.Fatal(err)
		}
		r := run{good: c.good, target: &target{gives: c.good}, verdict: v}
		if v != c.want || r.wrong() != c.wrong {
			t.Errorf("exit code %d, %s: got %s, %q, want %s, %q", c.code, c.stdout, v, r.wrong(), c.want, c.wrong)
		}
	}
	if _, _, err := judge(1, "", "broken", false); err == nil {
		t.Error("no error for an audit that failed")
	}
}

// What is pasted has the lines of the output, but for those that are cut off its head.
func TestPaste(t *testing.T) {
	t.Parallel()
	r := &run{line: "ab -n 1 x", printed: []byte("one\ntwo\nthree\nfour\nfive\nsix\nseven\n")}
	seen := map[string]bool{}
	for i := range 200 {
		name, text := newDraw(1, i).paste(r)
		seen[name] = true
		if !strings.Contains(string(text), "seven") || name != "headless" && !strings.Contains(string(text), "one") || strings.HasSuffix(string(text), "> ") {
			t.Errorf("%s: %q", name, text)
		}
	}
	if len(seen) != 8 {
		t.Errorf("%d ways to paste, want 8: %v", len(seen), seen)
	}
}
