package model_test

import (
	"fmt"
	"slices"
	"strings"
)

// A hostileCase is a request that a server must not trust.
type hostileCase struct {
	rfc, name, raw string
	// served says that a server may answer it as a request all the same, for the
	// reason given; closes, that it must close then.
	served string
	closes bool
}

// hostileRequests are malformed, ambiguous or oversized. RFC numbers without
// another are of RFC 9112; sections of RFC 9110 say so.
func hostileRequests() []hostileCase {
	const (
		chunked = "Transfer-Encoding: chunked"
		end     = "0\r\n\r\n"
	)
	plain := func(fields ...string) string { return request("GET /plaintext", fields...) }
	echo := func(fields ...string) string { return request("POST /echo", fields...) }
	chunks := func(body string) string { return echo(chunked) + body }
	long := strings.Repeat("v", 17<<10)
	line := func(s string) string { return s + "\r\nHost: test\r\n\r\n" }
	return []hostileCase{
		// The request line.
		{"3", "no version", line("GET /plaintext"), "", false},
		{"3", "no target", line("GET HTTP/1.1"), "", false},
		{"3", "method only", line("GET"), "", false},
		{"3", "two spaces before the target", line("GET  /plaintext HTTP/1.1"), "", false},
		{"3", "two spaces before the version", line("GET /plaintext  HTTP/1.1"), "", false},
		{"3", "tabs for spaces", line("GET\t/plaintext\tHTTP/1.1"), "", false},
		{"3", "space at the end", line("GET /plaintext HTTP/1.1 "), "", false},
		{"3", "space at the beginning", line(" GET /plaintext HTTP/1.1"), "", false},
		{"3.1", "method with a control byte", line("G\x01T /plaintext HTTP/1.1"), "", false},
		{"3.1", "method that is no token", line("G(T) /plaintext HTTP/1.1"), "", false},
		{"3.1", "empty method", line(" /plaintext HTTP/1.1"), "", false},
		{"3.2", "target without slash", line("GET plaintext HTTP/1.1"), "", false},
		{"3.2", "space in the target", line("GET /plain text HTTP/1.1"), "", false},
		{"3.2", "NUL in the target", line("GET /plain\x00text HTTP/1.1"), "", false},
		{"3.2", "DEL in the target", line("GET /plain\x7ftext HTTP/1.1"), "", false},
		{"3.2", "bare CR in the target", line("GET /plain\rtext HTTP/1.1"), "", false},
		{"3.2", "half an escape", line("GET /plaintext%2 HTTP/1.1"), "", false},
		{"3.2", "escape that is none", line("GET /plaintext%zz HTTP/1.1"), "", false},
		{"3.2.2", "URL with a broken host", line("GET http://[::1/plaintext HTTP/1.1"), "", false},
		{"3.2.2", "URL with a bad port", line("GET http://test:port/plaintext HTTP/1.1"), "", false},
		{"3", "target of 17 KiB", line("GET /" + long + " HTTP/1.1"), "", false},
		{"2.3", "version in lower case", line("GET /plaintext http/1.1"), "", false},
		{"2.3", "another protocol", line("GET /plaintext HTCPCP/1.0"), "", false},
		{"2.3", "version without minor", line("GET /plaintext HTTP/1"), "", false},
		{"2.3", "version with two digits", line("GET /plaintext HTTP/1.10"), "", false},
		{"2.3", "version with a sign", line("GET /plaintext HTTP/+1.1"), "", false},
		{"2.3", "version 0.9", line("GET /plaintext HTTP/0.9"), "", false},
		{"2.3", "version 2.0", line("GET /plaintext HTTP/2.0"), "", false},
		{"2.3", "version 3.0", line("GET /plaintext HTTP/3.0"), "", false},
		{"9113 §3.4", "preface of HTTP/2", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "", false},
		{"2.2", "TLS hello", "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n", "", false},
		{"2.2", "bytes at random", "\xde\xad\xbe\xef\x00\x01\x02\r\n\r\n", "", false},
		{"2.2", "bare LF for line ends", "GET /plaintext HTTP/1.1\nHost: test\n\n", "a recipient MAY take LF for a line end", false},
		{"2.2", "bare CR for line ends", "GET /plaintext HTTP/1.1\rHost: test\r\r\n\r\n", "", false},
		{"2.2", "empty line before", "\r\n" + plain(), "a server SHOULD ignore one", false},

		// Fields.
		{"5", "no colon", plain("nonsense"), "", false},
		{"5", "empty name", plain(": value"), "", false},
		{"5.1", "space before the colon", plain("X-Y : z"), "", false},
		{"5.1", "tab before the colon", plain("X-Y\t: z"), "", false},
		{"5.1", "space before the colon of the length", echo("Content-Length : 5") + "hello", "", false},
		{"5.1", "space before the colon of the coding", echo("Transfer-Encoding : chunked") + end, "", false},
		{"9110 §5.1", "space in a name", plain("X Y: z"), "", false},
		{"9110 §5.1", "parentheses in a name", plain("X(Y): z"), "", false},
		{"9110 §5.1", "NUL in a name", plain("X\x00Y: z"), "", false},
		{"9110 §5.1", "name beyond ASCII", plain("X-\xc3\xa9: z"), "", false},
		{"9110 §5.1", "slash in a name", plain("X/Y: z"), "", false},
		{"5.2", "folded line", plain("X-Y: a\r\n b"), "a server may replace the fold by spaces", false},
		{"5.2", "folded with a tab", plain("X-Y: a\r\n\tb"), "a server may replace the fold by spaces", false},
		{"5.2", "folded coding", echo("Transfer-Encoding:\r\n chunked") + end, "a server may replace the fold by spaces", false},
		{"2.2", "space before the first field", "GET /plaintext HTTP/1.1\r\n X-Y: z\r\nHost: test\r\n\r\n", "", false},
		{"9110 §5.5", "NUL in a value", plain("X-Y: a\x00b"), "", false},
		{"9110 §5.5", "bare CR in a value", plain("X-Y: a\rb"), "", false},
		{"9110 §5.5", "control byte in a value", plain("X-Y: a\x01b"), "", false},
		{"9110 §5.5", "DEL in a value", plain("X-Y: a\x7fb"), "", false},
		{"5", "field of 17 KiB", plain("X-Long: " + long), "", false},
		{"5", "field of 100 KiB", plain("X-Long: " + strings.Repeat(long, 6)), "", false},
		{"5", "name of 17 KiB", plain(long + ": z"), "", false},
		{"5", "101 fields", plain(slices.Repeat([]string{"X-Y: z"}, 100)...), "", false},
		{"5", "150 fields of different names", plain(numbered(150)...), "", false},
		{"5", "2,000 fields", plain(slices.Repeat([]string{"X-Y: z"}, 2000)...), "", false},

		// Host.
		{"3.2", "no host", "GET /plaintext HTTP/1.1\r\n\r\n", "", false},
		{"3.2", "no host, but fields", "GET /plaintext HTTP/1.1\r\nX-Y: z\r\n\r\n", "", false},
		{"3.2", "no host, version 1.2", "GET /plaintext HTTP/1.2\r\nX-Y: z\r\n\r\n", "", false},
		{"3.2", "two hosts", plain("Host: other"), "", false},
		{"3.2", "two equal hosts", plain("Host: test"), "", false},
		{"3.2", "two hosts in any case", plain("hOST: other"), "", false},
		{"9110 §7.2", "space in the host", "GET /plaintext HTTP/1.1\r\nHost: a b\r\n\r\n", "", false},
		{"9110 §7.2", "slash in the host", "GET /plaintext HTTP/1.1\r\nHost: a/b\r\n\r\n", "", false},
		{"9110 §7.2", "user in the host", "GET /plaintext HTTP/1.1\r\nHost: a@b\r\n\r\n", "", false},

		// Where the body ends.
		{"6.1", "coding and length", echo(chunked, "Content-Length: 5") + end, "a server MAY go by the coding", true},
		{"6.1", "length and coding", echo("Content-Length: 5", chunked) + end, "a server MAY go by the coding", true},
		{"6.1", "length and coding in any case", echo("cOntent-length: 5", "tRANSFER-encoding: CHUNKED") + end, "a server MAY go by the coding", true},
		{"6.1", "coding and length of 0", echo("Content-Length: 0", chunked) + end, "a server MAY go by the coding", true},
		{"6.1", "coding in HTTP/1.0", "POST /echo HTTP/1.0\r\nHost: test\r\nConnection: keep-alive\r\nTransfer-Encoding: chunked\r\n\r\n" + end, "", false},
		{"6.1", "coding and length in HTTP/1.0", "POST /echo HTTP/1.0\r\nHost: test\r\nConnection: keep-alive\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n" + end, "", false},
		{"6.1", "identity", echo("Transfer-Encoding: identity"), "", false},
		{"6.1", "identity and length", echo("Transfer-Encoding: identity", "Content-Length: 5") + "hello", "", false},
		{"6.1", "gzip", echo("Transfer-Encoding: gzip") + end, "", false},
		{"6.1", "chunked, then gzip", echo("Transfer-Encoding: chunked, gzip") + end, "", false},
		{"6.1", "gzip, then chunked", echo("Transfer-Encoding: gzip, chunked") + end, "", false},
		{"6.1", "chunked twice", echo("Transfer-Encoding: chunked, chunked") + end, "", false},
		{"6.1", "chunked on two lines", echo(chunked, chunked) + end, "", false},
		{"6.1", "coding on two lines", echo("Transfer-Encoding: identity", chunked) + end, "", false},
		{"6.1", "xchunked", echo("Transfer-Encoding: xchunked") + end, "", false},
		{"6.1", "chunked in quotes", echo("Transfer-Encoding: \"chunked\"") + end, "", false},
		{"6.1", "chunked with a parameter", echo("Transfer-Encoding: chunked;q=1") + end, "", false},
		{"6.1", "chunked after a vertical tab", echo("Transfer-Encoding: \x0bchunked") + end, "", false},
		{"6.1", "empty coding", echo("Transfer-Encoding:") + end, "", false},
		{"6.3", "two lengths", echo("Content-Length: 5", "Content-Length: 6") + "hello!", "", false},
		{"6.3", "two lengths in any case", echo("Content-Length: 5", "cOntent-lEngth: 6") + "hello!", "", false},
		{"6.3", "two lengths on a line", echo("Content-Length: 5, 6") + "hello!", "", false},
		{"6.3", "two equal lengths", echo("Content-Length: 5", "Content-Length: 5") + "hello", "a recipient may take equal values for one", false},
		{"6.2", "length with plus", echo("Content-Length: +5") + "hello", "", false},
		{"6.2", "length with minus", echo("Content-Length: -5") + "hello", "", false},
		{"6.2", "length of minus zero", echo("Content-Length: -0"), "", false},
		{"6.2", "length in hexadecimal", echo("Content-Length: 0x5") + "hello", "", false},
		{"6.2", "length with letters", echo("Content-Length: 5x") + "hello", "", false},
		{"6.2", "length with a space", echo("Content-Length: 1 0") + "hellohello", "", false},
		{"6.2", "length with an underscore", echo("Content-Length: 1_0") + "hellohello", "", false},
		{"6.2", "length with a fraction", echo("Content-Length: 5.0") + "hello", "", false},
		{"6.2", "empty length", echo("Content-Length:") + "hello", "", false},
		{"6.2", "length beyond 64 bits", echo("Content-Length: 18446744073709551621") + "hello", "", false},
		{"6.2", "length over the limit", echo("Content-Length: 1048577"), "", false},

		// Chunks.
		{"7.1", "size that is no number", chunks("zz\r\nhello\r\n" + end), "", false},
		{"7.1", "empty size", chunks("\r\nhello\r\n" + end), "", false},
		{"7.1", "size with plus", chunks("+5\r\nhello\r\n" + end), "", false},
		{"7.1", "size with minus", chunks("-5\r\nhello\r\n" + end), "", false},
		{"7.1", "size with 0x", chunks("0x5\r\nhello\r\n" + end), "", false},
		{"7.1", "size with an underscore", chunks("0_5\r\nhello\r\n" + end), "", false},
		{"7.1", "space before the size", chunks(" 5\r\nhello\r\n" + end), "", false},
		{"7.1", "size beyond 64 bits", chunks("10000000000000005\r\nhello\r\n" + end), "", false},
		{"7.1", "chunk longer than its size", chunks("4\r\nhello\r\n" + end), "", false},
		{"7.1", "chunk without line end", chunks("5\r\nhello" + end), "", false},
		{"7.1", "bare LF after the size", chunks("5\nhello\r\n" + end), "", false},
		{"7.1", "bare LF after the chunk", chunks("5\r\nhello\n" + end), "", false},
		{"7.1", "bare CR after the size", chunks("5\rhello\r\n" + end), "", false},
		{"7.1.1", "LF in an extension", chunks("5;a\nb\r\nhello\r\n" + end), "", false},
		{"7.1", "chunks over the limit", chunks("100001\r\n" + strings.Repeat("b", 1<<20+1)), "", false},

		// Methods and bodies that are not for an origin server.
		{"9110 §9.3.6", "CONNECT", "CONNECT test:80 HTTP/1.1\r\nHost: test:80\r\n\r\n", "", false},
		{"9110 §9.3.8", "TRACE", line("TRACE /plaintext HTTP/1.1"), "", false},
		{"9110 §9.3.8", "TRACE with a body", upload("TRACE /plaintext", "hello"), "", false},
	}
}

func numbered(n int) (fields []string) {
	for i := range n {
		fields = append(fields, fmt.Sprintf("X-%d: z", i))
	}
	return fields
}
