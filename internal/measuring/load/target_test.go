package load

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"schedlab/internal/measuring/arrivals"
	"schedlab/internal/shared/record"

	"github.com/google/go-cmp/cmp"
	vegeta "github.com/tsenart/vegeta/v12/lib"
)

func TestReadTargets(t *testing.T) {
	t.Parallel()
	body := filepath.Join(t.TempDir(), "body")
	if err := os.WriteFile(body, []byte("hello"), 0o600); err != nil {
		t.Fatal(err)
	}
	got, err := ReadTargets(strings.NewReader("# a comment\nGET http://127.0.0.1:8080/work?seed=1\nAccept: text/plain\nx-Odd: 1\n\nPUT http://127.0.0.1:8080/kv/a\n@"+body+"\n"), "")
	if err != nil {
		t.Fatal(err)
	}
	want := []Target{
		{Method: "GET", URL: "http://127.0.0.1:8080/work?seed=1", Header: http.Header{"Accept": {"text/plain"}, "x-Odd": {"1"}}},
		{Method: "PUT", URL: "http://127.0.0.1:8080/kv/a", Header: http.Header{}, Body: []byte("hello")},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("targets (-want +got):\n%s", diff)
	}
}

// Every target file that is shipped can be driven, from the repository's root.
func TestShippedTargets(t *testing.T) {
	t.Chdir(filepath.Join("..", "..", ".."))
	files, err := filepath.Glob("loadtests/targets/*.txt")
	if err != nil {
		t.Fatal(err)
	}
	driven := 0
	for _, file := range files {
		if strings.HasSuffix(file, "-value.txt") {
			continue // a body
		}
		text, err := os.Open(file)
		if err != nil {
			t.Fatal(err)
		}
		defer text.Close()
		targets, err := ReadTargets(text, "")
		if err == nil {
			_, err = newScript(targets, true, nil, nil)
		}
		if err != nil || len(targets) == 0 {
			t.Errorf("%s: %d targets, %v", file, len(targets), err)
		}
		driven++
	}
	if driven < 3 {
		t.Errorf("%d target files, want plaintext, work and kv at least", driven)
	}
}

func TestReadTargetsRefuses(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"":                                "no targets",
		"GET":                             "bad target",
		"get http://a/":                   "bad method",
		"GET http://a/\nnonsense":         "bad header",
		"GET ftp://a/":                    "line 1: scheme \"ftp\"",
		"GET http://a/\n\nGET /b":         "line 3: scheme \"\"",
		"GET http:///b":                   "no host",
		"GET http://u:p@a/":               "credentials",
		"CONNECT http://a/":               "cannot be sent",
		"# one\n\nGET http://:1/nohost\n": `line 3: no host in "http://:1/nohost"`,
		"GET http://a/\nA: b\nGET http:///\nB: c\n":                      "line 3: no host",
		"GET http://a/\n\nGET http://a/\nnonsense":                       "line 4: bad header",
		"GET http://a/\n: b":                                             "line 2: bad header",
		`{"method":"GET","url":"http://a/"}` + "\n" + `{"method":"GET"}`: "line 2: no url",
		`{"url":"http://a/"}`:                                            "line 1: no method",
		`{"method":"GET","url":"http://a/","headers":{}}`:                `line 1: json: unknown field "headers"`,
		`{"method":"GET","url":"http://a/","header":{"A":"b"}}`:          "line 1: json: cannot unmarshal",
		`{"method":"GET","url":"http://a/","body":"not base64!"}`:        "line 1: illegal base64",
		`{"method":"GET","url":"http://a/"} {}`:                          "line 1: more after the object",
		"{\n\"method\": \"GET\"":                                         "one JSON object a line",
		"\xff\xfeG\x00":                                                  "the file is UTF-16; convert it: iconv",
		"GET http://a/\nContent-Length: 3":                               "set by the driver",
		"GET http://a/\nx-vegeta-seq: 3":                                 "set by the driver",
		"GET http://a/\na b: 3":                                          "not a token",
		"GET http://a/\nA: b\x00c":                                       "line break or NUL",
		"GET http://a/\n@/nonexistent/file":                              "no such file",
		strings.Repeat("x", maxTargetLine+1):                             "line 1: 65536 bytes",
		strings.Repeat("\n", maxTargetFile+1):                            "split the file",
	} {
		if got, err := ReadTargets(strings.NewReader(text), ""); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.40q: got %v, %v; want an error with %q", text, got, err, want)
		}
	}
}

// Whatever ReadTargets accepts is rendered as exactly one request that
// net/http's server side reads.
func FuzzReadTargets(f *testing.F) {
	f.Add("GET http://127.0.0.1:8080/work?seed=1\nAccept: text/plain\n\nPOST http://[::1]/\nHost: b\n")
	f.Add("# c\nDELETE http://a/kv/%C3%A4\n\nHEAD http://a?q#f")
	f.Fuzz(func(t *testing.T, text string) {
		if strings.Contains(text, "@") {
			t.Skip("names a file")
		}
		targets, err := ReadTargets(strings.NewReader(text), "")
		if err != nil {
			return
		}
		for _, target := range targets {
			tp, err := target.template(true)
			if err != nil {
				t.Fatalf("accepted %+v, then refused: %v", target, err)
			}
			raw := tp.request(nil, 7, arrivals.Demand{Iters: 1})
			r := bufio.NewReader(bytes.NewReader(raw))
			req, err := http.ReadRequest(r)
			if err != nil {
				// net/http is stricter about a few hosts and header values than
				// a generator need be; what matters is that nothing follows.
				continue
			}
			body, err := io.ReadAll(req.Body)
			if err != nil || len(body) != 0 || r.Buffered() != 0 {
				t.Fatalf("%q reads as a body of %q with %d bytes after it, %v", raw, body, r.Buffered(), err)
			}
			if got := req.Header.Values("X-Vegeta-Seq"); req.Method != target.Method || len(got) != 1 || got[0] != "7" {
				t.Fatalf("%q reads as method %q, number %q", raw, req.Method, got)
			}
		}
	})
}

// The requests of a file are asked of any server, whichever it names.
func TestReadTargetsAt(t *testing.T) {
	t.Parallel()
	got, err := ReadTargets(strings.NewReader("GET /a?b\n\nGET http://elsewhere:1//c#d\nHost: kept\n"), "127.0.0.1:5")
	if err != nil {
		t.Fatal(err)
	}
	want := []Target{
		{Method: "GET", URL: "http://127.0.0.1:5/a?b", Header: http.Header{}},
		{Method: "GET", URL: "http://127.0.0.1:5//c", Header: http.Header{"Host": {"kept"}}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("targets (-want +got):\n%s", diff)
	}
	if _, err := ReadTargets(strings.NewReader("GET https://a/\n"), "127.0.0.1:5"); err == nil || !strings.Contains(err.Error(), `scheme "https"`) {
		t.Errorf("TLS: got %v", err)
	}
}

// What is written for vegeta is what its targeters read.
func TestWriteTargets(t *testing.T) {
	t.Parallel()
	for format, targets := range map[string][]Target{
		"http": {
			{Method: "GET", URL: "http://a/b?cpu=exp(1ms)&sleep=0.8*0s+0.2*10ms", Header: http.Header{}},
			{Method: "DELETE", URL: "http://a/c", Header: http.Header{"Host": {"d"}, "X-Odd": {"1", "2"}}},
		},
		"json": {
			{Method: "PUT", URL: "http://a/b", Header: http.Header{"Host": {"d"}}, Body: []byte("two\nlines")},
			{Method: "GET", URL: "http://a/c", Header: http.Header{}},
		},
	} {
		var text bytes.Buffer
		if got, err := WriteTargets(&text, targets); err != nil || got != format {
			t.Fatalf("got format %q, %v; want %s", got, err, format)
		}
		read := vegeta.NewHTTPTargeter(bytes.NewReader(text.Bytes()), nil, nil)
		if format == "json" {
			read = vegeta.NewJSONTargeter(bytes.NewReader(text.Bytes()), nil, nil)
		}
		all, err := vegeta.ReadAllTargets(read)
		if err != nil {
			t.Fatalf("%s: %v in\n%s", format, err, &text)
		}
		var got []Target
		for _, r := range all {
			got = append(got, Target{Method: r.Method, URL: r.URL, Header: r.Header, Body: r.Body})
		}
		if diff := cmp.Diff(targets, got); diff != "" {
			t.Errorf("%s, targets (-want +got):\n%s", format, diff)
		}
	}
}

// A trace says which target each request asks, in an open loop and in a closed one.
func TestWhich(t *testing.T) {
	t.Parallel()
	c, err := newScript([]Target{{Method: "GET", URL: "http://s/a"}, {Method: "GET", URL: "http://s/b"}}, true, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	asked := func() (lines string) {
		for seq := range uint64(4) {
			lines += string(c.template(seq).line) + " "
		}
		return lines
	}
	if got, want := asked(), "GET /a GET /b GET /a GET /b "; got != want {
		t.Errorf("in turn: got %s, want %s", got, want)
	}
	c.which = []uint32{1, 1, 0}
	if got, want := asked(), "GET /b GET /b GET /a GET /b "; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	open := Options{Targets: []Target{{Method: "GET", URL: "http://s/a"}}, Trace: arrivals.Trace{At: []time.Duration{0}, Which: []uint32{1}}}
	closed := Options{Clients: record.Clients{Loop: "closed", Connections: 1}, Targets: open.Targets, Trace: arrivals.Trace{Which: []uint32{1}}, Duration: time.Second}
	for _, err := range []error{open.Check(), closed.Check()} {
		if err == nil || !strings.Contains(err.Error(), "request 0 asks target 2 of 1") {
			t.Errorf("no such target: got %v", err)
		}
	}
	open.Trace.Which = []uint32{}
	if err := open.Check(); err == nil || !strings.Contains(err.Error(), "give one each, or none") {
		t.Errorf("a trace without them all: got %v", err)
	}
}

// fileOf returns a file of testdata.
func fileOf(t *testing.T, name string) []byte {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// Targets are read in both of vegeta's formats, whatever editor wrote them.
func TestReadTargetFiles(t *testing.T) {
	t.Parallel()
	comments := []Target{
		{Method: "GET", URL: "http://127.0.0.1:18500/c1", Header: http.Header{}},
		{Method: "GET", URL: "http://127.0.0.1:18500/c2", Header: http.Header{"X-Empty": {""}, "X-Colon": {"a:b:c"}}},
		{Method: "HEAD", URL: "http://127.0.0.1:18500/c3", Header: http.Header{}},
	}
	objects := []Target{
		{Method: "POST", URL: "http://127.0.0.1:18500/j1", Header: http.Header{"X-A": {"1"}}, Body: []byte(`{"a":1}`)},
		{Method: "GET", URL: "http://127.0.0.1:18500/j2", Header: http.Header{}},
	}
	for name, want := range map[string][]Target{"targets-comments.txt": comments, "targets.jsonl": objects} {
		text := fileOf(t, name)
		var packed bytes.Buffer
		zip := gzip.NewWriter(&packed)
		zip.Write(text)
		zip.Close()
		for how, form := range map[string]string{
			"as it is": string(text), "with a mark": "\ufeff" + string(text), "packed": packed.String(),
			"with CRLF": strings.ReplaceAll(string(text), "\n", "\r\n"), "without the last line end": strings.TrimRight(string(text), "\n"),
		} {
			got, err := ReadTargets(strings.NewReader(form), "")
			if diff := cmp.Diff(want, got); err != nil || diff != "" {
				t.Errorf("%s %s: %v (-want +got):\n%s", name, how, err, diff)
			}
		}
	}
	kv, err := ReadTargets(bytes.NewReader(fileOf(t, "targets-from-schedlab.jsonl")), "")
	if err != nil || len(kv) != 20 || kv[0].Method != "PUT" || string(kv[0].Body) != "value" {
		t.Errorf("%d targets, %v, the first %+v", len(kv), err, kv)
	}
	if _, err := ReadTargets(bytes.NewReader(fileOf(t, "targets-nohost.txt")), ""); err == nil || err.Error() != `reading targets: line 1: no host in "http://:18500/nohost"; give an absolute URL` {
		t.Errorf("no host: %v", err)
	}
}

// What WriteTargets writes, ReadTargets and vegeta read again: with bodies and with empty values.
func TestTargetsRoundTrip(t *testing.T) {
	t.Parallel()
	plain := Target{Method: "GET", URL: "http://a/b%2Fc?d", Header: http.Header{"A": {"b", "c"}}}
	empty := Target{Method: "GET", URL: "http://a/", Header: http.Header{"X-Empty": {""}}}
	body := Target{Method: "POST", URL: "http://a/", Header: http.Header{}, Body: []byte("x\x00y")}
	for format, targets := range map[string][]Target{"http": {plain, plain}, "json": {plain, empty, body}} {
		var text bytes.Buffer
		if got, err := WriteTargets(&text, targets); got != format || err != nil {
			t.Fatalf("%s: written as %s, %v", format, got, err)
		}
		got, err := ReadTargets(bytes.NewReader(text.Bytes()), "")
		if diff := cmp.Diff(targets, got); err != nil || diff != "" {
			t.Errorf("%s: %v (-want +got):\n%s", format, err, diff)
		}
		read := vegeta.NewHTTPTargeter(bytes.NewReader(text.Bytes()), nil, nil)
		if format == "json" {
			read = vegeta.NewJSONTargeter(bytes.NewReader(text.Bytes()), nil, nil)
		}
		theirs, err := vegeta.ReadAllTargets(read)
		if err != nil || len(theirs) != len(targets) {
			t.Fatalf("%s: vegeta reads %d of %d, %v", format, len(theirs), len(targets), err)
		}
		for i, want := range targets {
			if diff := cmp.Diff(want, Target{Method: theirs[i].Method, URL: theirs[i].URL, Header: theirs[i].Header, Body: theirs[i].Body}); diff != "" {
				t.Errorf("%s: vegeta (-want +got):\n%s", format, diff)
			}
		}
	}
}

// A request target is sent as it is written: only bytes that a URL cannot have are escaped, by both engines.
func TestTargetsAreSentAsWritten(t *testing.T) {
	t.Parallel()
	for url, want := range map[string]string{
		"/a%2Fb":            "/a%2Fb",
		"/a%2Fb|c":          "/a%2Fb%7Cc",
		"/a%2fb c":          "/a%2fb%20c",
		"/%7Euser/~user":    "/%7Euser/~user",
		"/p{1}/[x]/^":       "/p%7B1%7D/[x]/%5E",
		"/é%2F":             "/%C3%A9%2F",
		"//double/slash":    "//double/slash",
		"/q?x=a|b&u=%2F":    "/q?x=a%7Cb&u=%2F",
		"/q?a[]=1&b=c/d?e":  "/q?a[]=1&b=c/d?e",
		"/only?":            "/only?",
		"/frag#part":        "/frag",
		"":                  "/",
		"?q=1":              "/?q=1",
		"/a/../b/./c":       "/a/../b/./c",
		"/work?sleep=1ms|2": "/work?sleep=1ms%7C2",
	} {
		target := Target{Method: "GET", URL: "http://127.0.0.1:1" + url}
		tp, err := target.template(true)
		if got := string(tp.line); err != nil || got != "GET "+want {
			t.Errorf("%s: sent as %q, %v; want %q", url, got, err, want)
		}
		req, err := (&vegeta.Target{Method: "GET", URL: string(tp.url)}).Request()
		if err != nil || req.URL.RequestURI() != want {
			t.Errorf("%s: the engine vegeta sends %q, %v; want %q", url, req.URL.RequestURI(), err, want)
		}
		if got := target.At("x:2").URL; got != "http://x:2"+want {
			t.Errorf("%s: moved to %q", url, got)
		}
	}
}
