package scenario

import (
	"fmt"
	"strings"
	"testing"
	"unicode"

	"schedlab/internal/measuring/scenario/demo"
	"schedlab/internal/shared/cmdline"
	"schedlab/internal/shared/record"

	"github.com/google/go-cmp/cmp"
)

func TestArmErrors(t *testing.T) {
	t.Parallel()
	flags := strings.Join(armSettings(), ", ")
	for _, c := range []struct{ name, text, want string }{
		{"no list", demo.Swap("arms:\n  - nethttp\n  - fasthttp", "arms: nethttp"), `7:7: arms: want a list, like [a, b], not "nethttp"`},
		{"no arms", demo.Swap("arms:\n  - nethttp\n  - fasthttp\n", ""), "1:1: arms: needs at least two: a baseline and a challenger"},
		{"one arm", demo.Swap("  - fasthttp\n", ""), "8:3: arms: needs at least two: a baseline and a challenger"},
		{"too many", demo.Swap("  - fasthttp\n", "  - {mode: pool, vary: {workers: [1, 2, 3, 4, 5, 6, 7], queue-depth: [1, 2, 3, 4, 5, 6]}}"), "9:5: arms[1]: vary makes more than 40 arms; leave values out"},
		{"too many together", demo.Swap("  - fasthttp\n", strings.Repeat("  - {mode: pool, vary: {workers: [1, 2, 3, 4, 5, 6, 7]}}\n", 1)+"  - {mode: pool, vary: {queue-depth: [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32, 33]}}\n"), "8:3: arms: has 41, more than 40"},
		{"empty", demo.Arm(""), "9:5: arms[1]: want a mode, like nethttp, or {mode: pool, workers: 4}, not nothing"},
		{"list", demo.Arm("[a, b]"), "9:5: arms[1]: want one value, not a list"},
		{"words", demo.Arm("'a: b'"), `9:5: arms[1]: "a: b" is not an arm's name: a name has up to 120 letters, digits and . _ = , + -`},
		{"same mode twice", demo.Arm("nethttp"), `9:5: arms[1]: the name "nethttp" is taken; give one of them a name`},
		{"the copy's name", demo.Arm("{name: \"nethttp'\", mode: pool}"), `9:5: arms[1]: "nethttp'" is not an arm's name: a name has up to 120 letters, digits and . _ = , + -`},
		{"bad name", demo.Arm("{name: x y, mode: pool}"), `9:5: arms[1]: "x y" is not an arm's name: a name has up to 120 letters, digits and . _ = , + -`},
		{"unknown key", demo.Arm("{mode: pool, wrkers: 4}"), `9:18: arms[1]: unknown key "wrkers" (did you mean workers?)`},
		{"unknown key that is near none", demo.Arm("{mode: pool, colour: 4}"), `9:18: arms[1]: unknown key "colour" (want one of name, mode, command, url, env, metrics, vary, ` + flags + `)`},
		{"unknown key in lines", demo.Arm("mode: pool\n    wrkers: 4"), `10:5: arms[1]: unknown key "wrkers" (did you mean workers?)`},
		{"unknown flag varied", demo.Arm("{mode: pool, vary: {wrkers: [4]}}"), `9:25: arms[1].vary: unknown key "wrkers" (did you mean workers?)`},
		{"unknown flag varied that is near none", demo.Arm("{mode: pool, vary: {colour: [4]}}"), `9:25: arms[1].vary: unknown key "colour" (want one of ` + flags + `)`},
		{"nothing varied", demo.Arm("{mode: pool, vary: {workers: []}}"), "9:34: arms[1].vary.workers: is empty; list the values, like [1, 4]"},
		{"vary without lists", demo.Arm("{mode: pool, vary: 4}"), `9:24: arms[1].vary: want keys and values (` + flags + `), not "4"`},
		{"vary without a list", demo.Arm("{mode: pool, vary: {workers: 4}}"), `9:34: arms[1].vary.workers: want a list, like [a, b], not "4"`},
		{"list in a varied list", demo.Arm("{mode: pool, vary: {workers: [[4]]}}"), "9:35: arms[1].vary.workers[0]: want one value, not a list"},
		{"given and varied", demo.Arm("{mode: pool, workers: 2, vary: {workers: [4]}}"), "9:5: arms[1]: workers has a value and is varied; drop one"},
		{"varied into a bad name", demo.Arm("{mode: pool, vary: {overflow: [a/b]}}"), `9:5: arms[1]: the varied name "pool,overflow=a/b": a name has up to 120 letters, digits and . _ = , + -`},
		{"varied into a taken name", demo.Arm("{mode: pool, vary: {workers: [4, 4]}}"), `9:5: arms[1]: the name "pool,workers=4" is taken; give one of them a name`},
		{"list for a flag", demo.Arm("{mode: pool, workers: [1, 2]}"), "9:27: arms[1].workers: want one value, not a list"},
		{"flag without a value", demo.Arm("{mode: pool, workers: }"), "9:18: arms[1].workers: has no value; give one or leave the key out"},
		{"flag twice", demo.Arm("{mode: pool, workers: 1, workers: 2}"), `9:30: mapping key "workers" already defined at [9:18]`},
		{"mode of keys", demo.Arm("{mode: {a: b}}"), "9:12: arms[1].mode: want one value, not keys and values"},
		{"keepalive neither", demo.Arm("{mode: pool, keepalive: 4}"), `9:5: arms[1]: keepalive: "4" is neither true nor false`},
		{"neither mode nor command", demo.Arm("{name: x}"), "9:5: arms[1]: an arm needs a mode, a command or a url"},
		{"mode and command", demo.Arm("{name: x, mode: pool, command: './server {addr}'}"), "9:5: arms[1]: an arm has a mode, a command or a url, only one of them"},
		{"command without an address", demo.Arm("{name: x, command: ./server}"), "9:5: arms[1]: the command does not say {addr} or {port}, so the server cannot be told where to listen"},
		{"command with an open quote", demo.Arm(`{name: x, command: "./server '{addr}"}`), `9:24: arms[1].command: unfinished quote in "./server '{addr}"`},
		{"empty command", demo.Arm("{name: x, command: ' '}"), "9:24: arms[1].command: empty command"},
		{"command with flags", demo.Arm("{name: x, command: './server {addr}', workers: 4}"), "9:5: arms[1]: flags and vary of them belong to a mode; write a command's own flags into the command"},
		{"command without a name", demo.Arm("{command: './server {addr}'}"), `9:5: arms[1]: "" is not an arm's name: a name has up to 120 letters, digits and . _ = , + -`},
		{"command without quotes", demo.Arm("{name: x, command: ./server {addr}}"), "9:33: ',' or '}' must be specified"},
	} {
		wantError(t, c.name, c.text, c.want)
	}
}

func TestParseArm(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		text string
		want Arm
	}{
		{"pool", Arm{Name: "pool", Mode: "pool"}},
		{"pool,workers=4,queue-depth=8", Arm{Name: "pool,workers=4,queue-depth=8", Mode: "pool", Flags: map[string]string{"workers": "4", "queue-depth": "8"}}},
		{"mine=./server -l {addr}", Arm{Name: "mine", Command: []string{"./server", "-l", "{addr}"}}},
		{"mine=env A='b c' ./server --addr={addr}", Arm{Name: "mine", Command: []string{"env", "A=b c", "./server", "--addr={addr}"}}},
	} {
		got, err := ParseArm(c.text)
		if err != nil {
			t.Errorf("%q: %v", c.text, err)
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%q (-want +got):\n%s", c.text, diff)
		}
	}
	for _, c := range []struct{ text, want string }{
		{"", "an arm needs a mode, a command or a url"},
		{"pool,workers", `"workers" is not flag=value`},
		{"pool,mode=4", `unknown flag "mode" (want one of ` + strings.Join(armSettings(), ", ") + ")"},
		{"mine=./server -l 8080", `"mine=./server -l 8080" is none of MODE[,setting=value...], name='CMD {addr}' and name=http://HOST:PORT: a command must say {addr} where it listens`},
		{"=./server {addr}", `"" is not an arm's name: ` + armNameForm},
		{"a b=./server {addr}", `"a b" is not an arm's name: ` + armNameForm},
		{"mine=\x1b[31m./server {addr}", `"mine=\x1b[31m./server {addr}" has the control character U+001B; leave it out`},
		{"pool,limit=half", `limit "half" is not a number of CPUs from 0.05 to 1024, like 0.5`},
		{"pool,limit=0.01", `limit "0.01" is not a number of CPUs from 0.05 to 1024, like 0.5`},
		{"mine=limit=NaN ./s {addr}", `limit "NaN" is not a number of CPUs from 0.05 to 1024, like 0.5`},
		{"mine=limit=1 http://127.0.0.1:1", "limit: a server that runs already is limited where it is started; leave limit out, or give the arm's command"},
		{"pool,env.limit=1", "a variable named limit would be taken for the server's limit; leave out env, as in limit=0.5"},
		{"mine='./server {addr}", `unfinished quote in "'./server {addr}"`},
	} {
		if _, err := ParseArm(c.text); err == nil || err.Error() != c.want {
			t.Errorf("%q: got %v, want %s", c.text, err, c.want)
		}
	}
}

func TestExpand(t *testing.T) {
	t.Parallel()
	s, err := Parse("f.yaml", []byte(demo.Arm("{name: p, mode: pool, overflow: block, vary: {workers: [1, 4], queue-depth: [8, 16]}}")))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, a := range s.Arms[1].expand() {
		got = append(got, a.Name+": "+cmdline.Join(a.Argv("schedlab", 2.5, "off")[10:]))
	}
	want := []string{
		"p,queue-depth=8,workers=1: --overflow block --queue-depth 8 --workers 1",
		"p,queue-depth=8,workers=4: --overflow block --queue-depth 8 --workers 4",
		"p,queue-depth=16,workers=1: --overflow block --queue-depth 16 --workers 1",
		"p,queue-depth=16,workers=4: --overflow block --queue-depth 16 --workers 4",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// spin is a setting of the load, true or false, and of serve, a number; a switch
// of serve is one word, and an arm's own stamps stand alone.
func TestSettingsAndFlags(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ text, argv, clients string }{
		{"pool-ring,spin=40", "--stamps full --spin 40", "map[]"},
		{"nethttp,pipeline=4,loop=closed", "--stamps full", "map[loop:closed pipeline:4]"},
		{"pool-perworker,steal=true,queue=p2c", "--stamps full --queue p2c --steal=true", "map[]"},
		{"pool,stamps=basic", "--stamps basic", "map[]"},
		{"pool,stamps=off", "--stamps off", "map[]"},
	} {
		a, err := ParseArm(c.text)
		if err != nil {
			t.Errorf("%q: %v", c.text, err)
			continue
		}
		if got := cmdline.Join(a.Argv("schedlab", 2.5, record.StampsFull)[10:]); got != c.argv || fmt.Sprint(a.Clients) != c.clients {
			t.Errorf("%q: got %s, %v; want %s, %s", c.text, got, a.Clients, c.argv, c.clients)
		}
	}
	s, err := Parse("f.yaml", []byte(demo.Arm("{name: p, mode: pool-ring, vary: {spin: [0, 40]}}")))
	if err != nil {
		t.Fatal(err)
	}
	if arms := s.Arms[1].expand(); arms[1].Name != "p,spin=40" || arms[1].Flags["spin"] != "40" {
		t.Errorf("got %+v, want spin varied as a flag", arms)
	}
}

func FuzzParseArm(f *testing.F) {
	f.Add("pool,workers=4")
	f.Add("mine='./server' {addr}")
	f.Add("mine=metrics=/m GOGC=5 ./server {host} {port}")
	f.Add("prod=metrics=:9/m http://127.0.0.1:9000")
	f.Add("pool,env.A=b/c")
	f.Fuzz(func(t *testing.T, text string) {
		a, err := ParseArm(text)
		if err != nil {
			oneLineError(t, err)
			return
		}
		if !armName.MatchString(a.Name) || a.kinds() != 1 {
			t.Errorf("%q: accepted %+v", text, a)
		}
	})
}

func oneLineError(t *testing.T, err error) {
	t.Helper()
	if strings.ContainsFunc(err.Error(), unicode.IsControl) {
		t.Errorf("got %q, want one line", err)
	}
}

// The scenario of a run that was made from the command line has no arms of its own.
func TestRecordedScenarioNeedsNoArms(t *testing.T) {
	t.Parallel()
	s, err := Ask("path", "Which is best?", Workload{Path: "/work?sleep=20ms"}, Load{KeepAlive: true, Rate: Rate{PerSecond: 150}})
	if err != nil {
		t.Fatal(err)
	}
	got, err := Recorded(s.Name, []byte(s.Source))
	if err != nil || got.Workload.Path != s.Workload.Path || got.Load.Rate != s.Load.Rate || !got.Load.KeepAlive {
		t.Errorf("got %+v, %v", got, err)
	}
	if _, err := Parse(s.Name, []byte(s.Source)); err == nil {
		t.Error("a file without arms is a scenario")
	}
	if _, err := Recorded("path", []byte(strings.Replace(s.Source, "/work", "work", 1))); err == nil {
		t.Error("a path without a slash is read")
	}
	if _, err := Recorded("path", []byte(s.Source+"arms: [nethttp]\n")); err == nil {
		t.Error("a file with one arm is read")
	}
	older := []byte(s.Source + "predict: [bounds, usl]\n") // models that are no more
	if _, err := Recorded("path", older); err != nil {
		t.Error(err)
	}
}
