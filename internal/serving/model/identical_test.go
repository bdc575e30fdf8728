package model_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"schedlab/internal/serving/model"
)

// A requestCase is a request as bytes and the status it must get everywhere.
type requestCase struct {
	name, raw string
	status    int
}

func request(line string, fields ...string) string {
	return line + " HTTP/1.1\r\nHost: test\r\n" + strings.Join(append(fields, "\r\n"), "\r\n")
}

func upload(line, body string, fields ...string) string {
	return request(line, append(fields, fmt.Sprintf("Content-Length: %d", len(body)))...) + body
}

// handled requests reach a handler, so every mode must answer them alike.
func handled() []requestCase {
	const chunked = "Transfer-Encoding: chunked"
	big := strings.Repeat("0123456789abcdef", 4096)
	cases := []requestCase{
		{"", upload("PUT /kv/a", "value"), 204},
		{"", upload("PUT /kv/a%2Fb", "slash"), 204},
		{"", request("GET /kv/a/b"), 200},
		{"", request("GET /kv/a%2fb"), 200},
		{"empty value", upload("PUT /kv/empty", ""), 204},
		{"empty value", request("GET /kv/empty"), 200},
		{"", request("HEAD /kv/empty"), 200},
		{"no length", request("PUT /kv/none"), 204},
		{"64 KiB", upload("PUT /kv/big", big), 204},
		{"64 KiB", request("GET /kv/big"), 200},
		{"", request("HEAD /kv/big"), 200},
		{"too large a value", upload("PUT /kv/big", big+"x"), 413},
		{"", request("DELETE /kv/big"), 204},
		{"gone", request("GET /kv/big"), 404},
		{"gone", request("HEAD /kv/big"), 404},
		{"", upload("POST /kv/a", "value"), 405},
		{"", request("GET /kv/"), 400},
		{"malformed escape in a query", request("GET /work?cpu=%zz"), 400},

		{"", upload("POST /echo", "hello"), 200},
		{"", upload("PUT /echo", "hello"), 200},
		{"empty", upload("POST /echo", ""), 200},
		{"64 KiB", upload("POST /echo", big), 200},
		{"closing", upload("POST /echo", "hello", "Connection: close"), 200},
		{"chunked", request("POST /echo", chunked) + "5\r\nhello\r\n6;ext=1\r\n world\r\n0\r\n\r\n", 200},
		{"chunked, empty", request("POST /echo", chunked) + "0\r\n\r\n", 200},
		{"chunked, trailer", request("POST /echo", chunked) + "5\r\nhello\r\n0\r\nX-Sum: 1\r\n\r\n", 200},
		{"chunked", request("PUT /kv/c", chunked) + "5\r\nhello\r\n0\r\n\r\n", 204},
		{"chunked, large", request("POST /echo", chunked) + fmt.Sprintf("%x\r\n%s\r\n0\r\n\r\n", len(big), big), 200},
		{"broken chunk", request("POST /echo", chunked) + "zz\r\nhello\r\n0\r\n\r\n", 400},
		{"continue", upload("POST /echo", "hello", "Expect: 100-continue"), 200},
		{"continue, 404", upload("POST /absent", "hello", "Expect: 100-continue"), 404},
		{"continue, chunked", request("POST /echo", chunked, "Expect: 100-continue") + "5\r\nhello\r\n0\r\n\r\n", 200},
		{"continue in any case", upload("POST /echo", "hello", "Expect: 100-Continue"), 200},
		{"continue in a list", upload("POST /echo", "hello", "eXPECT: x-y, 100-CONTINUE"), 200},
		{"continue, no body", request("GET /plaintext", "Expect: 100-Continue"), 200},
		{"continue, empty body", upload("POST /echo", "", "Expect: 100-continue"), 200},
		{"length over the limit", request("POST /echo", "Content-Length: 1048577"), 413},
		{"body over the limit", request("POST /echo", chunked) + fmt.Sprintf("100001\r\n%s", strings.Repeat("b", 1<<20+1)), 413},
		{"body on GET", upload("GET /plaintext", "ignored"), 200},
		{"body on HEAD", upload("HEAD /plaintext", "ignored"), 200},
		{"body on DELETE", upload("DELETE /kv/none", "ignored"), 204},
		{"body on 405", upload("PATCH /plaintext", "ignored"), 405},
		{"form", upload("POST /echo", "a=1&b=2", "Content-Type: application/x-www-form-urlencoded"), 200},
		{"multipart", upload("POST /echo", "--x\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\n1\r\n--x--\r\n", "Content-Type: multipart/form-data; boundary=x"), 200},
		{"not multipart", upload("POST /echo", "hello", "Content-Type: multipart/form-data; boundary=x"), 200},
		{"gzip", upload("POST /echo", "not gzip", "Content-Encoding: gzip"), 200},

		{"absolute form", request("GET http://test/plaintext"), 200},
		{"absolute form", request("GET http://test/work?iters=1"), 200},
		{"absolute form, no path", request("GET http://test"), 200},
		{"absolute form, other host", request("GET http://elsewhere:99/plaintext"), 200},
		{"escapes", request("GET /pl%61intext"), 200},
		{"escaped slash", request("GET /bytes%2F5"), 200},
		{"query", request("GET /plaintext?a=%20b&c=%25"), 200},
		{"empty query", request("GET /plaintext?"), 200},
		{"query with ?", request("GET /plaintext?a?b"), 200},
		{"double slash", request("GET //plaintext"), 404},
		{"dots", request("GET /x/../plaintext"), 404},
		{"dot", request("GET /./plaintext"), 404},
		{"trailing slash", request("GET /plaintext/"), 404},
		{"double escape", request("GET /pl%2561intext"), 404},
		{"asterisk", request("OPTIONS *"), 404},
		{"", request("OPTIONS /plaintext"), 405},
		{"", request("TRACE /plaintext"), 405},
		{"lower case", request("get /plaintext"), 405},
		{"invented method", request("BREW /plaintext"), 405},
		{"empty host", "GET /plaintext HTTP/1.1\r\nHost:\r\n\r\n", 200},
		{"empty host behind a space", "GET /plaintext HTTP/1.1\r\nHost: \r\n\r\n", 200},
		{"empty host behind other fields", "GET /json HTTP/1.1\r\nAccept: */*\r\nX-Y: z\r\nhost:\t \r\nX-Z: y\r\n\r\n", 200},
		{"empty host, version 1.0", "GET /plaintext HTTP/1.0\r\nHost:\r\nConnection: keep-alive\r\n\r\n", 200},
		{"empty host, and in the body", "POST /echo HTTP/1.1\r\nHost:\r\nContent-Length: 15\r\n\r\n\r\n\r\nHost:\r\nHo\r\n", 200},
		{"empty host, closing", "GET /plaintext HTTP/1.1\r\nHost:\r\nConnection: close\r\n\r\n", 200},
		{"", "CONNECT test:80 HTTP/1.1\r\nHost: test:80\r\n\r\n", 405},

		{"closing", request("GET /plaintext", "Connection: close"), 200},
		{"closing", request("GET /plaintext", "Connection: CLOSE"), 200},
		{"closing, among others", request("GET /plaintext", "Connection: x-y, close"), 200},
		{"closing, then others", request("GET /plaintext", "connection: close", "Connection: x-y"), 200},
		{"closing in name only", request("GET /plaintext", "Connection: closed, not-close"), 200},
		{"keep-alive", request("GET /plaintext", "Connection: keep-alive"), 200},
		{"closing", request("HEAD /plaintext", "Connection: close"), 200},
		{"closing", request("GET /absent", "Connection: close"), 404},
		{"closing", request("DELETE /kv/none", "Connection: close"), 204},
		{"accepts", request("GET /json", "Accept: */*", "Accept-Encoding: gzip", "User-Agent: test"), 200},
		{"range", request("GET /bytes/100", "Range: bytes=0-9"), 200},
		{"conditional", request("GET /plaintext", "If-None-Match: *", "If-Modified-Since: Fri, 01 Jan 2100 00:00:00 GMT"), 200},
		{"cookies", request("GET /plaintext", "Cookie: a=b", "Cookie: c=d"), 200},
		{"upgrade", request("GET /plaintext", "Connection: upgrade", "Upgrade: websocket"), 200},
		{"7.9 KB target", request("GET /plaintext?" + strings.Repeat("q", 7900)), 200},
		{"6 KB field", request("GET /plaintext", "X-Long: "+strings.Repeat("v", 6000)), 200},
	}
	for _, path := range []string{"/", "/plaintext", "/json", "/work", "/work?iters=10&seed=1", "/work?cpu=exp(2us)&sleep=exp(1ms)",
		"/bytes/0", "/bytes/1", "/bytes/2048", "/bytes/2049", "/bytes/65536", "/bytes/1048576", "/kv/absent", "/absent",
		"/bytes/1048577", "/bytes/x", "/work?cpu=2s", "/work?unknown=1", "/echo"} {
		for _, method := range []string{"GET", "HEAD", "POST", "DELETE"} {
			cases = append(cases, requestCase{"", request(method + " " + path), 0})
		}
	}
	for i, c := range cases {
		line, _, _ := strings.Cut(c.raw, " HTTP/")
		cases[i].name = fmt.Sprintf("%.40s %s", line, c.name)
	}
	return cases
}

// Whatever the scheduling, the answer is the same: status, fields, body, length,
// and whether the connection lives on.
func TestIdenticalResponses(t *testing.T) {
	t.Parallel()
	modes := variants()
	subjects := make([]*subject, len(modes))
	for i, mode := range modes {
		subjects[i] = start(t, mode)
	}
	for _, tc := range handled() {
		t.Run(tc.name, func(t *testing.T) {
			var first answer
			for i, s := range subjects {
				c := s.dial()
				a, err := c.ask(tc.raw)
				if err != nil {
					t.Fatalf("%s: %v after %+v", modes[i].Name, err, a)
				}
				a.Kept = c.answersAgain()
				c.Close()
				if tc.status != 0 && a.Status != tc.status {
					t.Errorf("%s: got %d, want %d", modes[i].Name, a.Status, tc.status)
				}
				if closes := a.field("Connection") == "close"; closes == a.Kept {
					t.Errorf("%s: says it closes: %v, takes another request: %v", modes[i].Name, closes, a.Kept)
				}
				if server := a.field("Server"); server != "schedlab" {
					t.Errorf("%s: Server is %q", modes[i].Name, server)
				}
				if i == 0 {
					first = a
				} else if diff := cmp.Diff(first, a, interim(a)); diff != "" {
					t.Errorf("%s answers otherwise than %s (-, +):\n%s", modes[i].Name, modes[0].Name, diff)
				}
			}
		})
	}
}

// interim ignores 100 Continue where it says nothing any more: a server may
// leave it out when the body came with the head (RFC 9110 §10.1.1).
func interim(answer) cmp.Option { return cmpopts.IgnoreFields(answer{}, "Interim") }

// answersAgain reports whether the server takes another request.
func (c *client) answersAgain() bool {
	a, err := c.ask(getClose("/plaintext"))
	return err == nil && a.Status == 200 && a.Body == "Hello, World!"
}

// A client that waits to be told to send its body is told at once: to go on, whatever the case and
// the list in which it asks, or that the request is refused as it stands.
func TestExpect(t *testing.T) {
	waits := func(expect string, fields ...string) string {
		return request("POST /echo", append(fields, "Expect: "+expect)...)
	}
	eachMode(t, func(t *testing.T, mode model.Mode) {
		s := start(t, mode)
		for _, tc := range []struct {
			name, head string
			status     int // 200: goes on
		}{
			{"usual", waits("100-continue", "Content-Length: 5"), 200},
			{"capital", waits("100-Continue", "Content-Length: 5"), 200},
			{"capitals", waits("100-CONTINUE", "Content-Length: 5"), 200},
			{"list", waits("x-y, 100-Continue", "Content-Length: 5"), 200},
			{"list, other order", waits("100-Continue,x-y", "Content-Length: 5"), 200},
			{"chunked", waits("100-Continue", "Transfer-Encoding: chunked"), 200},
			{"at the limit", waits("100-Continue", "Content-Length: 1048576"), 200},
			{"too long", waits("100-continue", "Content-Length: 1048577"), 413},
			{"too long, capital", waits("100-Continue", "Content-Length: 1048577"), 413},
			{"unknown", waits("x-y", "Content-Length: 5"), 417},
			{"two codings", waits("100-Continue", "Content-Length: 5", "Transfer-Encoding: chunked"), 400},
		} {
			c := s.dial()
			body := "hello"
			switch {
			case strings.Contains(tc.head, "chunked"):
				body = "5\r\nhello\r\n0\r\n\r\n"
			case strings.Contains(tc.head, "1048576"):
				body = strings.Repeat("b", 1<<20)
			}
			for range 2 { // the second on the kept connection
				c.Write([]byte(tc.head))
				if tc.status == 200 {
					if line, err := c.line(); err != nil || line != "HTTP/1.1 100 Continue" {
						t.Fatalf("%s: got %q %v, want 100", tc.name, line, err)
					}
					c.line()
					c.Write([]byte(body))
				}
				a, err := c.read("POST")
				if err != nil || a.Status != tc.status || len(a.Interim) > 0 {
					t.Errorf("%s: got %d, before it %v, %v, want %d alone", tc.name, a.Status, a.Interim, err, tc.status)
				}
				if tc.status != 200 {
					break
				}
			}
			c.Close()
		}
	})
}

// What a library refuses by itself may be worded by it, but every mode refuses
// it with the same status and closes.
func TestRefusals(t *testing.T) {
	cases := []requestCase{
		{"no version", "GET /plaintext\r\n\r\n", 400},
		{"not HTTP", "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n", 400},
		{"no host", "GET /plaintext HTTP/1.1\r\n\r\n", 400},
		{"no host, but fields", "GET /plaintext HTTP/1.1\r\nX-Y: z\r\nHosts: a\r\n\r\n", 400},
		{"two hosts", request("GET /plaintext", "Host: other"), 400},
		{"a host and an empty one", request("GET /plaintext", "Host:"), 400},
		{"an empty host and another", "GET /plaintext HTTP/1.1\r\nHost:\r\nHost: test\r\n\r\n", 400},
		{"two empty hosts", "GET /plaintext HTTP/1.1\r\nHost:\r\nHost:\r\n\r\n", 400},
		{"unknown expectation", request("GET /plaintext", "Expect: x-y"), 417},
		{"unknown expectation with a body", upload("POST /echo", "hello", "Expect: 200-ok"), 417},
		{"space before colon", request("GET /plaintext", "X-Y : z"), 400},
		{"no colon", request("GET /plaintext", "nonsense"), 400},
		{"empty name", request("GET /plaintext", ": z"), 400},
		{"two lengths", upload("POST /echo", "hello", "Content-Length: 6"), 400},
		{"signed length", request("POST /echo", "Content-Length: +5") + "hello", 400},
		{"bad length", request("POST /echo", "Content-Length: 5x") + "hello", 400},
		{"identity coding", request("POST /echo", "Transfer-Encoding: identity", "Content-Length: 5") + "hello", 501},
		{"identity coding, no length", request("POST /echo", "Transfer-Encoding: identity") + "hello", 501},
		{"unknown coding", request("POST /echo", "Transfer-Encoding: gzip") + "hello", 501},
		{"chunked twice", request("POST /echo", "Transfer-Encoding: chunked", "Transfer-Encoding: chunked") + "0\r\n\r\n", 501},
		{"head of 17 KB", request("GET /plaintext", "X-Long: "+strings.Repeat("v", 17<<10)), 431},
		{"head of 100 KB", request("GET /plaintext", "X-Long: "+strings.Repeat("v", 100<<10)), 431},
		{"target of 17 KB", request("GET /plaintext?" + strings.Repeat("q", 17<<10)), 431},
		{"many fields", request("GET /plaintext", slices.Repeat([]string{"X-Some: field"}, 2000)...), 431},
		{"control byte in target", request("GET /kv/\x01"), 400},
		{"NUL in a field", request("GET /plaintext", "X-Y: a\x00b"), 400},
	}
	eachMode(t, func(t *testing.T, mode model.Mode) {
		s := start(t, mode)
		for _, tc := range cases {
			c := s.dial()
			go c.Write([]byte(tc.raw)) // the refusal may come before all is written
			a, err := c.read("GET")
			if err != nil || a.Status != tc.status || a.field("Connection") != "close" {
				t.Errorf("%s: got %+v %v, want %d and close", tc.name, a, err, tc.status)
			}
			if _, err := c.in.ReadByte(); err == nil {
				t.Errorf("%s: more comes after the refusal", tc.name)
			}
			c.Close()
		}
		if a, err := s.dial().ask(get("/plaintext")); err != nil || a.Status != 200 {
			t.Errorf("a good request afterwards: got %d %v", a.Status, err)
		}
	})
}
