package arrivals

import (
	"fmt"
	"io"
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

const noLogWords = "no line of an access log; want the Common or Combined Log Format, like " + logForm +
	", or a log of Envoy, HAProxy, IIS (W3C), an AWS load balancer, Squid, Caddy, Traefik or nginx as JSON"

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
	l, err := readAccessLog("x.log", strings.NewReader(someLog))
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
	bad, unread := l.Unsendable, l.Unreadable
	if l.Lines != 7 || l.Methods["POST"] != 1 || bad.Count != 1 || bad.First[0] != 5 || unread.Count != 1 || unread.First[0] != 8 || !l.Whole || l.Rate() != 1 {
		t.Errorf("got %+v at %g/s", l, l.Rate())
	}
	want := "of 7 lines 3 are left out: 1 ask with other methods than GET and HEAD, whose bodies a log does not hold (POST 1); 1 without a request that can be sent (line 5); 1 cannot be read (line 8)"
	if got := l.LeftOut(); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	again, err := readAccessLog("x.log", strings.NewReader(someLog))
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
	l, err := readAccessLog("x.log", strings.NewReader(`a - - [10/Oct/2000:13:55:36.750 +0000] "GET /b" 200 1
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
	log, err := readAccessLog("x.log", strings.NewReader(linesAt("10/Oct/2000:13:55:36", "10/Oct/2000:13:55:36.250", "10/Oct/2000:13:55:36.500", "10/Oct/2000:13:55:36.750")))
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
	if _, err := readAccessLog("x.log", strings.NewReader(linesAt("01/Jan/2000:00:00:00", "01/Jan/2001:00:00:00"))); err != nil {
		t.Errorf("366 days: %v", err)
	}
	if _, err := readAccessLog("x.log", strings.NewReader(linesAt("01/Jan/2000:00:00:00", "01/Jan/2001:00:00:01"))); err == nil || !strings.Contains(err.Error(), "is longer than 8784h0m0s") {
		t.Errorf("a second more: %v", err)
	}
	for bad, want := range map[int]string{
		1: "of 2 lines 1 are left out: 1 cannot be read (line 2)",
		5: "of 6 lines 5 are left out: 5 cannot be read (lines 2, 3, 4, 5, 6)",
		6: "of 7 lines 6 are left out: 6 cannot be read (lines 2, 3, 4, 5, 6, ...)",
	} {
		l, err := readAccessLog("x.log", strings.NewReader(linesAt("01/Jan/2000:00:00:00")+strings.Repeat("nonsense\n", bad)))
		if err != nil || l.LeftOut() != want {
			t.Errorf("%d bad lines: %q, %v; want %q", bad, l.LeftOut(), err, want)
		}
	}
}

func TestReadAccessLogRefuses(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"":           "x.log: no GET or HEAD among 0 requests; only those can be sent again from a log",
		"one\n\ntwo": "x.log:1: " + noLogWords,
		`a - - [10/Oct/2000:13:55:36 +0000] "PUT /a HTTP/1.1" 200 1`:                                                          "x.log: no GET or HEAD among 1 requests; only those can be sent again from a log",
		`a - - [10/Oct/2000 13:55:36] "GET /a HTTP/1.1" 200 1`:                                                                "x.log:1: " + noLogWords,
		strings.Repeat("x", maxLogLine+1):                                                                                     "x.log:1: " + strings.Replace(noLogWords, ";", " (the line is longer than 65536 bytes);", 1),
		"2026/11/20 08:15:00 [error] 7#7: *1 open() failed":                                                                   "x.log:1: no line of an access log: this is an error log of nginx; give its access log (the directive access_log names it)",
		"[Fri Nov 20 08:15:00.1 2026] [core:error] [pid 1] AH":                                                                "x.log:1: no line of an access log: this is an error log of Apache; give its access log (the directive CustomLog names it)",
		`INFO:     127.0.0.1:5 - "GET / HTTP/1.1" 200 OK`:                                                                     "x.log:1: no line of an access log: this is a log without times; have the server log times, as in the Common Log Format",
		"2026/11/20 08:15:00.1\tINFO\thttp.log.access\thandled request\t{\"request\": {}}":                                    "x.log:1: no line of an access log: this is Caddy's console format; have Caddy write JSON: log { format json }",
		"Nov 20 08:15:00 lb haproxy[1]: 10.0.1.2:33313 [20/Nov/2026:08:15:00.655] fnt bck/srv1 0/0/5007 212 -- 0/0/0/0/3 0/0": "x.log:1: no line of an access log: this is HAProxy's TCP format; have HAProxy log requests: option httplog",
		`{"when": 5, "what": "/a"}`:                                                                                           "x.log:1: no line of an access log: this is JSON without a request that is known; " + foreignFormats[5].convert,
		"\x28\xb5\x2f\xfd...":                                                                                                 "x.log: the file is packed by zstd; convert it: zstd -dc FILE > NEW",
		"\xff\xfe1\x00":                                                                                                       "x.log: the file is UTF-16; convert it: iconv -f UTF-16 -t UTF-8 FILE > NEW",
		"\x1f\x8b\x08":                                                                                                        "x.log: reading a gzip file: unexpected EOF",
		"#Fields: date time\n# and no more":                                                                                   "x.log: no GET or HEAD among 0 requests; only those can be sent again from a log",
	} {
		if _, err := readAccessLog("x.log", strings.NewReader(text)); err == nil || err.Error() != want {
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
	if a.log, err = readAccessLog("x.log", strings.NewReader(someLog)); err != nil {
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
	files, _ := filepath.Glob(filepath.Join("testdata", "log-*"))
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(text))
	}
	f.Add(`a - - [10/Oct/2000:13:55:36.750 +0000] "GET /%zz HTTP/1.1" 200 1`)
	f.Fuzz(func(t *testing.T, text string) {
		l, err := readAccessLog("x.log", strings.NewReader(text))
		if err != nil {
			return
		}
		trace := Trace{At: l.At, Which: l.Which}
		if err := trace.Check(); err != nil || !(l.Rate() > 0) {
			t.Fatalf("%v: %+v", err, l)
		}
		lines := len(l.At) + l.Unsendable.Count + l.Unreadable.Count
		for _, n := range l.Methods {
			lines += n
		}
		if whole := l.part(0, l.span(l.Rate()), l.Rate()); lines != l.Lines || len(whole.At) != len(l.At) {
			t.Fatalf("%d of %d lines are told, %d of %d requests sent", lines, l.Lines, len(whole.At), len(l.At))
		}
		for _, r := range l.Requests {
			if _, err := http.NewRequest(r.Method, "http://server"+r.Path, nil); err != nil || strings.ContainsAny(r.Path, " \r\n\x00#") || EscapeTarget(r.Path) != r.Path {
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
	l, err := readAccessLog("x.log", strings.NewReader(text.String()))
	if err != nil || len(l.Requests) != lines {
		t.Fatalf("got %d requests, %v", len(l.Requests), err)
	}
	if kept := int64(heap()) - int64(before); kept > lines*length/4 {
		t.Errorf("a log of %d bytes keeps %d of them", text.Len(), kept)
	}
	runtime.KeepAlive(l)
}

// opened reads a log of testdata.
func opened(t *testing.T, name string) (Process, *AccessLog) {
	t.Helper()
	a, err := Process{Kind: KindLog, File: filepath.Join("testdata", name)}.Open(0)
	if err != nil {
		t.Fatal(err)
	}
	return a, a.Log()
}

// paths lists the requests of a log in their order, GET without its name.
func paths(l *AccessLog) (all []string) {
	for _, i := range l.Which {
		r := l.Requests[i]
		all = append(all, strings.TrimPrefix(r.Method+" "+r.Path, "GET "))
	}
	return all
}

// A window as long as a log sends all of it, whatever the speed, the last request too.
func TestEveryLineIsSent(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]int{"log-ms-100.log": 100, "log-ms-last-dropped.log": 3, "log-half-proxy.log": 20} {
		a, _ := opened(t, name)
		for _, speed := range []float64{.3, 1, 3, 7, 1000} {
			rate := a.OwnRate() * speed
			if got := a.Draw(rate, a.Span(rate), nil); len(got.At) != want || got.Check() != nil {
				t.Errorf("%s at %g times its speed: %d of %d requests", name, speed, len(got.At), want)
			}
		}
	}
	one, err := readAccessLog("x.log", strings.NewReader(linesAt("10/Oct/2000:13:55:36.900")))
	if got := one.part(0, one.span(one.Rate()), one.Rate()); err != nil || len(got.At) != 1 {
		t.Errorf("a log of one request: %v, %v", got, err)
	}
}

// Requests are sent as they were logged, and each line that is left out is told with its reason.
func TestOddLogLines(t *testing.T) {
	t.Parallel()
	_, l := opened(t, "log-odd-lines.log")
	got := paths(l)
	slices.Sort(got)
	want := []string{
		"/%C3%A9/%C3%BC", "//double/slash", "/a%2Fb", "/a%2Fb%7Cc", "/absolute?x=1", "/compose", "/frag%23part", "/ipv6", "/ms", "/only-q?",
		"/p%7B1%7D/[x]/%5E", "/q?x=a%7Cb&y=%7Bz%7D&u=%2F", "/syslog", "/syslog-pid", "/traefik", "/ua", "/user-bracket", "/user-space", "/vhost", "/xff", "HEAD /head",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	said := "of 28 lines 7 are left out: 5 ask with other methods than GET and HEAD, whose bodies a log does not hold (CONNECT 1, OPTIONS 1, POST 1, PROPFIND 1, VERSION-CONTROL 1); 2 without a request that can be sent (lines 16, 19)"
	if l.LeftOut() != said {
		t.Errorf("got  %s\nwant %s", l.LeftOut(), said)
	}
	for name, want := range map[string][]string{
		"log-bom-crlf.log": {"/bom", "/bom2"}, "access.log.2.gz": {"/gz"}, "log-caddy.json": {"/a"}, "log-envoy.log": {"/api/v1/locations"},
		"log-haproxy.log": {"/index.html"}, "log-iis.log": {"/default.htm"},
	} {
		if _, l := opened(t, name); !slices.Equal(paths(l), want) || l.LeftOut() != "" {
			t.Errorf("%s: %v, %s", name, paths(l), l.LeftOut())
		}
	}
}

// A line of each format gives its time and its request.
func TestLogFormats(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`a - - [20/Nov/2026:08:15:01 +0000] "GET /a HTTP/1.1" 200 5`:                                                                                        "1s /a",
		`a - - [20/Nov/2026:09:15:01.5 +0100] "GET /a HTTP/1.1" 200 - "r" "u"`:                                                                              "1.5s /a",
		`a - - [2026-11-20T08:15:01+00:00] "GET /a HTTP/2.0" 200 5`:                                                                                         "1s /a",
		`a - - [2026-11-20T09:15:01.25+0100] "GET /a HTTP/2.0" 200 5`:                                                                                       "1.25s /a",
		`a - - [20/Nov/2026:08:15:01 +0000] "GET /\xC3\xA9\x22\"\\ HTTP/1.1" 200 5`:                                                                         "1s /%C3%A9%22%22%5C",
		`a - - [20/Nov/2026:08:15:01 +0000] "GET HTTPS://x:1?q HTTP/1.1" 200 5`:                                                                             "1s /?q",
		`a - - [20/Nov/2026:08:15:01 +0000] "GET http://x HTTP/1.1" 200 5`:                                                                                  "1s /",
		`a - - [20/Nov/2026:08:15:01 +0000] "GET /old" 200 5`:                                                                                               "1s /old",
		`[2026-11-20T08:15:01.250Z] "GET /e HTTP/2" 503 UF,URX 154 0 226 100 "-"`:                                                                           "1.25s /e",
		`x haproxy[1]: 1.2.3.4:5 [20/Nov/2026:08:15:01.250] in~ b/<NOSRV> 0/-1/-1/-1/+9 503 2 - - SC-- 1/1/1/1/0 0/0 "GET /h#23#22 HTTP/1.1"`:               "1.25s /h%23%22",
		`https 2026-11-20T08:15:01.250000Z app/lb/1 1.2.3.4:5 10.0.0.1:80 0.000 0.001 0.000 200 200 34 366 "GET https://x:443/alb?a=1 HTTP/1.1" "curl" - -`: "1.25s /alb?a=1",
		`2026-11-20T08:15:01.250000Z lb 1.2.3.4:5 - -1 -1 -1 503 0 0 0 "GET http://x:80/elb HTTP/1.1" "curl" - -`:                                           "1.25s /elb",
		`1795162501.250     45 10.0.0.1 TCP_MISS/200 1234 GET http://x/squid - DIRECT/1.2.3.4 text/html`:                                                    "1.25s /squid",
		`{"ts":1795162501.25,"request":{"method":"GET","uri":"/caddy"}}`:                                                                                    "1.25s /caddy",
		`{"ts":"2026-11-20T08:15:01.25Z","request":{"method":"GET","uri":"/iso"}}`:                                                                          "1.25s /iso",
		`{"ts":1795162501250.0,"request":{"method":"GET","uri":"/milli"}}`:                                                                                  "1.25s /milli",
		`{"ts":"2026/11/20 08:15:01.250","request":{"method":"GET","uri":"/wall"}}`:                                                                         "1.25s /wall",
		`web-1  | {"StartUTC":"2026-11-20T08:15:01.25Z","RequestMethod":"GET","RequestPath":"/traefik"}`:                                                    "1.25s /traefik",
		`{"start_time":"2026-11-20T08:15:01.250Z","method":"GET","path":"/envoy","response_code":200}`:                                                      "1.25s /envoy",
		`{"timestamp":"2026-11-20T08:15:01.250Z","httpRequest":{"requestMethod":"GET","requestUrl":"https://x/g"}}`:                                         "1.25s /g",
		`{"time_local":"20/Nov/2026:08:15:01 +0000","request":"GET /nginx HTTP/1.1","status":"200"}`:                                                        "1s /nginx",
		`{"msec":"1795162501.250","request_method":"GET","request_uri":"/msec"}`:                                                                            "1.25s /msec",
		`{"log":"a - - [20/Nov/2026:08:15:01 +0000] \"GET /docker HTTP/1.1\" 200 5\n","stream":"stdout","time":"2026-11-20T08:15:01Z"}`:                     "1s /docker",
		"#Fields: date time cs-method cs-uri-stem cs-uri-query sc-status\n2026-11-20 08:15:01 GET /iis a=1 200":                                             "1s /iis?a=1",
		"#Date: 2026-11-20 08:00:00\n#Fields: time cs-method cs-uri-stem\n08:15:01 GET /timeonly":                                                           "1s /timeonly",
		"#Version: 1.0\n#Fields: date time x-edge-location cs-method cs-uri-stem cs-uri-query\n2026-11-20\t08:15:01\tFRA\tGET\t/cloudfront\t-":              "1s /cloudfront",
	} {
		// The first request is at a whole second, from which times count.
		first := `a - - [20/Nov/2026:08:15:00.000 +0000] "GET /first HTTP/1.1" 200 5` + "\n"
		l, err := readAccessLog("x.log", strings.NewReader(first+text))
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		last := len(l.At) - 1
		if got := l.At[last].Truncate(time.Second).String() + " " + paths(l)[last]; l.Whole && got != want {
			t.Errorf("%s: got %q, want %q", text, got, want)
		} else if got := l.At[last].String() + " " + paths(l)[last]; !l.Whole && got != want {
			t.Errorf("%s: got %q, want %q", text, got, want)
		}
	}
}

// An endless reader repeats a line, and counts what is read of it.
type endless struct {
	line string
	at   int
	read int64
}

func (e *endless) Read(p []byte) (int, error) {
	n := copy(p, e.line[e.at:])
	e.at = (e.at + n) % len(e.line)
	e.read += int64(n)
	return n, nil
}

// Of a file without a log line only the beginning is read, however long it is, and packed or not.
func TestForeignFilesAreReadInPart(t *testing.T) {
	t.Parallel()
	for name, line := range map[string]string{
		"short lines": "x\n", "long lines": strings.Repeat("x", 60<<10) + "\n", "one line": "x", "zeros": "\x00",
	} {
		e := &endless{line: line}
		_, err := readAccessLog("x.log", e)
		if err == nil || !strings.Contains(err.Error(), "no line of an access log") || e.read > maxForeignBytes+1<<20 {
			t.Errorf("%s: %v after %d bytes", name, err, e.read)
		}
	}
}

// A long line amid a log is left out, and what follows is read.
func TestLongLogLines(t *testing.T) {
	t.Parallel()
	long := `a - - [20/Nov/2026:08:15:00 +0000] "GET /` + strings.Repeat("x", 3*maxLogLine) + ` HTTP/1.1" 414 5` + "\n"
	l, err := readAccessLog("x.log", strings.NewReader(linesAt("20/Nov/2026:08:15:00")+long+linesAt("20/Nov/2026:08:15:01")))
	if err != nil || len(l.At) != 2 || l.LeftOut() != "of 3 lines 1 are left out: 1 cannot be read (line 2)" {
		t.Errorf("%v: %+v", err, l)
	}
}

// More text than the limit is an error, also where it comes out of a small file.
func TestTextIsBounded(t *testing.T) {
	t.Parallel()
	b := &bounded{&endless{line: "\n"}, 10}
	if text, err := io.ReadAll(b); len(text) != 10 || err != errTooMuchText {
		t.Errorf("%d bytes, %v", len(text), err)
	}
}

// A trace is read with a mark, packed, and with long lines refused.
func TestTraceText(t *testing.T) {
	t.Parallel()
	if got, err := readTrace("x.csv", strings.NewReader("\ufeffat,sleep\r\n0s,1ms\r\n"), 0); err != nil || len(got.At) != 1 || got.Demand[0].Sleep != time.Millisecond {
		t.Errorf("with a mark: %+v, %v", got, err)
	}
	if _, err := readTrace("x.csv", strings.NewReader("1ms\n"+strings.Repeat("1", maxTraceLine+1)), 0); err == nil || err.Error() != "x.csv:2: the line is longer than 1024 bytes" {
		t.Errorf("a long line: %v", err)
	}
}
