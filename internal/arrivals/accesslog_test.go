package arrivals

import (
	"net/http"
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
	if l.Whole || !slices.Equal(l.At, want) || l.Requests[l.Which[0]].Path != "/a" || l.LeftOut() != "" {
		t.Errorf("got %+v", l)
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
	if got := a.LogSpan(10); got != 400*time.Millisecond {
		t.Errorf("four requests at 10/s last %v", got)
	}
	whole := a.Draw(10, a.LogSpan(10), nil)
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
