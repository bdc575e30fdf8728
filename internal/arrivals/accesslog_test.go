package arrivals

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

const someLog = `127.0.0.1 - - [10/Oct/2000:13:55:36 -0700] "GET /a HTTP/1.0" 200 2326
::1 - frank x [10/Oct/2000:13:55:37 -0700] "GET /b?q=1 HTTP/1.1" 404 - "http://start/" "Mozilla/5.0 (a; b)"
10.0.0.1 - - [10/Oct/2000:13:55:38 -0700] "POST /form HTTP/1.1" 200 5

10.0.0.1 - - [10/Oct/2000:13:55:38 -0700] "\x16\x03\x01" 400 150 "-" "-"
www:80 10.0.0.1 - - [10/Oct/2000:13:55:36 -0700] "HEAD /a HTTP/1.1" 200 0
127.0.0.1 - - [10/Oct/2000:13:55:39 -0700] "GET /a HTTP/1.0" 200 2326
nonsense
`

func TestReadAccessLog(t *testing.T) {
	t.Parallel()
	l, err := ReadAccessLog("x.log", strings.NewReader(someLog))
	if err != nil {
		t.Fatal(err)
	}
	var asked []string
	for i, at := range l.At {
		request := l.Requests[l.Which[i]]
		asked = append(asked, at.Truncate(time.Second).String()+" "+request.Method+" "+request.Path)
	}
	slices.Sort(asked[:2]) // of one second: the times are drawn, the order is the log's
	if diff := cmp.Diff([]string{"0s GET /a", "0s HEAD /a", "1s GET /b?q=1", "3s GET /a"}, asked); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if l.Lines != 7 || l.Others != 1 || l.Bad != 2 || !slices.Equal(l.BadLines, []int{5, 8}) || !l.Whole || l.Rate() != 1 {
		t.Errorf("got %+v at %g/s", l, l.Rate())
	}
	want := "of 7 lines 3 are left out: 1 ask with other methods than GET and HEAD, whose bodies a log does not hold; 2 cannot be read (lines 5, 8)"
	if got := l.LeftOut(); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	again, err := ReadAccessLog("x.log", strings.NewReader(someLog))
	if err != nil || !cmp.Equal(l, again) {
		t.Errorf("read again it differs: %v, %s", err, cmp.Diff(l, again))
	}
	if !slices.IsSorted(l.At) || l.At[0] == 0 && l.At[1] == 0 {
		t.Errorf("requests of one second are not spread over it: %v", l.At)
	}
}

// Times with fractions are taken as they are, and put in order.
func TestAccessLogFractions(t *testing.T) {
	t.Parallel()
	l, err := ReadAccessLog("x.log", strings.NewReader(`a - - [10/Oct/2000:13:55:36.750 +0000] "GET /b" 200 1
a - - [10/Oct/2000:13:55:36.250 +0000] "GET /a" 200 1
`))
	if err != nil {
		t.Fatal(err)
	}
	want := []time.Duration{250 * time.Millisecond, 750 * time.Millisecond}
	if l.Whole || !slices.Equal(l.At, want) || l.Requests[l.Which[0]].Path != "/a" || l.LeftOut() != "" || l.Rate() != 2/.75 {
		t.Errorf("got %+v at %g/s", l, l.Rate())
	}
}

// linesAt is a log of a request at each time.
func linesAt(times ...string) string {
	var b strings.Builder
	for i, at := range times {
		fmt.Fprintf(&b, "a - - [%s +0000] \"GET /%d\" 200 1\n", at, i)
	}
	return b.String()
}

func TestOpenALog(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "x.log")
	if err := os.WriteFile(file, []byte(someLog), 0o600); err != nil {
		t.Fatal(err)
	}
	a, err := parsed(t, "log("+file+")").Open(0)
	if err != nil || a.Log() == nil || a.OwnRate() != 1 {
		t.Errorf("got %+v at %v/s, %v", a.Log(), a.OwnRate(), err)
	}
	if none, err := (Process{}).Open(0); err != nil || none != (Process{}) || none.Log() != nil {
		t.Errorf("a process without a file: %+v, %v", none, err)
	}
}

// A stretch begins with the request at its start and ends before the one at its end.
func TestReplayOfAStretch(t *testing.T) {
	t.Parallel()
	log, err := ReadAccessLog("x.log", strings.NewReader(linesAt("10/Oct/2000:13:55:36", "10/Oct/2000:13:55:36.250", "10/Oct/2000:13:55:36.500", "10/Oct/2000:13:55:36.750")))
	if err != nil {
		t.Fatal(err)
	}
	a := Process{Kind: KindLog, File: "x.log", log: log}
	rate := a.OwnRate()
	if rate != 4/.75 {
		t.Errorf("four requests in 750 ms are %v/s", rate)
	}
	const span = 250 * time.Millisecond
	if got := a.Part(1, span, rate).Draw(rate, span, nil); !slices.Equal(got.At, []time.Duration{0}) || !slices.Equal(got.Which, []uint32{1}) {
		t.Errorf("the second quarter of a second is %+v", got)
	}
	if got := a.Part(3, time.Hour, rate); got != a.Part(0, time.Hour, rate) {
		t.Errorf("of one stretch the fourth is %+v", got)
	}
	if none := (Process{}); none.OwnRate() != 0 || none.Span(1) != 0 || none.Part(3, span, 1) != none {
		t.Errorf("a process without a log has its rate %v and span %v", none.OwnRate(), none.Span(1))
	}
}

// A log may be a year long, and five of its unreadable lines are told.
func TestAccessLogLimits(t *testing.T) {
	t.Parallel()
	if _, err := ReadAccessLog("x.log", strings.NewReader(linesAt("01/Jan/2000:00:00:00", "01/Jan/2001:00:00:00"))); err != nil {
		t.Errorf("366 days: %v", err)
	}
	if _, err := ReadAccessLog("x.log", strings.NewReader(linesAt("01/Jan/2000:00:00:00", "01/Jan/2001:00:00:01"))); err == nil || !strings.Contains(err.Error(), "is longer than 8784h0m0s") {
		t.Errorf("a second more: %v", err)
	}
	for bad, want := range map[int]string{
		1: "of 2 lines 1 are left out: 1 cannot be read (line 2)",
		5: "of 6 lines 5 are left out: 5 cannot be read (lines 2, 3, 4, 5, 6)",
		6: "of 7 lines 6 are left out: 6 cannot be read (lines 2, 3, 4, 5, 6, ...)",
	} {
		l, err := ReadAccessLog("x.log", strings.NewReader(linesAt("01/Jan/2000:00:00:00")+strings.Repeat("nonsense\n", bad)))
		if err != nil || l.LeftOut() != want {
			t.Errorf("%d bad lines: %q, %v; want %q", bad, l.LeftOut(), err, want)
		}
	}
}

func TestReadAccessLogRefuses(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"":           "x.log: no GET or HEAD among 0 requests; only those can be sent again from a log",
		"one\n\ntwo": "x.log:1: no line of an access log; want the Common or Combined Log Format, like " + logForm,
		`a - - [10/Oct/2000:13:55:36 +0000] "PUT /a HTTP/1.1" 200 1`: "x.log: no GET or HEAD among 1 requests; only those can be sent again from a log",
		`a - - [10/Oct/2000 13:55:36] "GET /a HTTP/1.1" 200 1`:       "x.log:1: no line of an access log; want the Common or Combined Log Format, like " + logForm,
		strings.Repeat("x", maxLogLine+1):                            "x.log:1: the line is longer than 65536 bytes",
	} {
		if _, err := ReadAccessLog("x.log", strings.NewReader(text)); err == nil || err.Error() != want {
			t.Errorf("%.60q: got %v, want %s", text, err, want)
		}
	}
}

func TestReplay(t *testing.T) {
	t.Parallel()
	a, err := Parse("log(x.log,10x)")
	if err != nil {
		t.Fatal(err)
	}
	if err := a.Check(1); err == nil || !strings.Contains(err.Error(), "the file has not been read") {
		t.Errorf("an unread log: got %v", err)
	}
	if a.log, err = ReadAccessLog("x.log", strings.NewReader(someLog)); err != nil {
		t.Fatal(err)
	}
	if got := a.OwnRate(); got != 10 {
		t.Errorf("ten times 1/s is %g/s", got)
	}
	if got := a.Span(10); got != 400*time.Millisecond {
		t.Errorf("four requests at 10/s last %v", got)
	}
	whole := a.Draw(10, a.Span(10), nil)
	if len(whole.At) != 4 || whole.Check() != nil || whole.At[3] < 300*time.Millisecond || len(whole.Which) != 4 {
		t.Errorf("got %+v", whole)
	}
	// Its stretches are its parts, one after the other and from the start again.
	var parts []uint32
	for k := range 4 {
		part := a.Part(k, 100*time.Millisecond, 10).Draw(10, 100*time.Millisecond, nil)
		for _, at := range part.At {
			if at < 0 || at >= 100*time.Millisecond {
				t.Errorf("stretch %d has a request at %v", k, at)
			}
		}
		parts = append(parts, part.Which...)
	}
	if !slices.Equal(parts, whole.Which) {
		t.Errorf("got %v in stretches, %v as a whole", parts, whole.Which)
	}
	again, first := a.Part(4, 100*time.Millisecond, 10), a.Part(0, 100*time.Millisecond, 10)
	if again != first {
		t.Errorf("the stretch after the last is %+v, want the first", again)
	}
	for text, want := range map[string]string{
		"log": "no file", "log()": "no file", "log(,2x)": "no file", "log(a,0x)": "a speed", "log(a,-1x)": "a speed", "log(a,NaNx)": "a speed", "log(a,Infx)": "a speed",
	} {
		if _, err := Parse(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", text, err, want)
		}
	}
	for _, text := range []string{"log(a)", "log(a,2x)", "log(a,b)", "log(a,2x,0.5x)"} {
		if a, err := Parse(text); err != nil || a.String() != text {
			t.Errorf("%s: got %s, %v", text, a, err)
		}
	}
}

func FuzzReadAccessLog(f *testing.F) {
	f.Add(someLog)
	f.Add(`a - - [10/Oct/2000:13:55:36.750 +0000] "GET /%zz HTTP/1.1" 200 1`)
	f.Fuzz(func(t *testing.T, text string) {
		l, err := ReadAccessLog("x.log", strings.NewReader(text))
		if err != nil {
			return
		}
		trace := Trace{At: l.At, Which: l.Which}
		if err := trace.Check(); err != nil || len(l.At)+l.Others+l.Bad != l.Lines || !(l.Rate() > 0) {
			t.Fatalf("%v: %+v", err, l)
		}
		for _, r := range l.Requests {
			if _, err := http.NewRequest(r.Method, "http://server"+r.Path, nil); err != nil || strings.ContainsAny(r.Path, " \r\n\x00") {
				t.Errorf("took %+v, which cannot be sent: %v", r, err)
			}
		}
	})
}

// A log keeps its requests and not its lines, which may be much longer. The test is not parallel,
// because it measures the heap.
func TestAccessLogLetsGoOfItsLines(t *testing.T) {
	const lines, length = 500, 60 << 10
	line := func(i int) string {
		return fmt.Sprintf("a - - [10/Oct/2000:13:55:36 +0000] \"GET /%d HTTP/1.1\" 200 1 %s\n", i, strings.Repeat("x", length))
	}
	var text strings.Builder
	for i := range lines {
		text.WriteString(line(i))
	}
	heap := func() uint64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	before := heap()
	l, err := ReadAccessLog("x.log", strings.NewReader(text.String()))
	if err != nil || len(l.Requests) != lines {
		t.Fatalf("got %d requests, %v", len(l.Requests), err)
	}
	if kept := int64(heap()) - int64(before); kept > lines*length/4 {
		t.Errorf("a log of %d bytes keeps %d of them", text.Len(), kept)
	}
	runtime.KeepAlive(l)
}
