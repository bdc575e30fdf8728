package arrivals

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// A logFormat is a format of access logs that can be read. read returns the time and the request line
// ("GET /path HTTP/1.1") of a line; ok is false for a line in another format.
type logFormat struct {
	name string
	read func(p *logParser, text string) (at time.Time, request string, ok bool)
}

const (
	logForm = `host - user [10/Oct/2000:13:55:36 -0700] "GET /path HTTP/1.1" 200 512`

	// Parts of the patterns below. A quoted string may have escaped quotes.
	quoted   = `"((?:[^"\\]|\\.)*)"`
	clfTime  = `\d{2}/[A-Za-z]{3}/\d{4}:\d{2}:\d{2}:\d{2}(?:[.,]\d+)? [-+]\d{4}`
	isoTime  = `\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}:\d{2}(?:[.,]\d+)? ?(?:Z|[-+]\d{2}:?\d{2})`
	zoneless = `\d{2}/[A-Za-z]{3}/\d{4}:\d{2}:\d{2}:\d{2}(?:[.,]\d+)?`
)

// logFormats are tried in this order.
//
// The pattern of the Common Log Format begins with the time, because anything may stand before it: a
// virtual host, user names with blanks and brackets, the prefixes of syslog and of Docker Compose.
var logFormats = []logFormat{
	{"the Common or Combined Log Format", byPattern(`\[(` + clfTime + `|` + isoTime + `)\] ` + quoted + ` \d{3} (?:\d+|-)(?:\s|$)`)},
	{"Envoy", byPattern(`\[(` + isoTime + `)\] ` + quoted + ` \d{3} [-A-Za-z,]+ `)},
	// Its time has no zone. Only differences of times matter, so any zone will do.
	{"HAProxy", haproxy(byPattern(`\[(` + zoneless + `)\] \S+ \S+/\S+ [-+/\d]+ -?\d+ .*? ` + quoted))},
	{"an AWS load balancer", byPattern(`^(?:[a-z0-9]+ )?(` + isoTime + `) \S+ \S+:\d+ \S+ \S+ \S+ \S+ \S+ \S+ \d+ \d+ ` + quoted)},
	{"Squid", byPattern(`(\d{9,10}\.\d{3}) +\d+ \S+ [A-Z_]+/\d{3} \d+ (\S+ \S+) `)},
	{"Caddy", byKeys("ts", "request.method", "request.uri")},
	{"Traefik", byKeys("StartUTC", "RequestMethod", "RequestPath")},
	{"Envoy as JSON", byKeys("start_time", "method", "path")},
	{"Google's load balancer", byKeys("timestamp", "httpRequest.requestMethod", "httpRequest.requestUrl")},
	{"nginx as JSON", byKeys("time_iso8601|time_local|msec|time|timestamp", "request_method", "request_uri")},
	{"nginx as JSON with its request line", byKeys("time_iso8601|time_local|msec|time|timestamp", "request", "")},
	{"IIS, or W3C Extended", w3cLine},
}

// foreignFormats are formats without times or requests, or formats that a server can easily change.
var foreignFormats = []struct {
	name    string
	mark    *regexp.Regexp // matches a line
	convert string         // how to get a log that can be read
}{
	{"Caddy's console format", regexp.MustCompile(`\thttp\.log\.access`), "have Caddy write JSON: log { format json }"},
	{"an error log of nginx", regexp.MustCompile(`^\d{4}/\d\d/\d\d \d\d:\d\d:\d\d \[(?:debug|info|notice|warn|error|crit|alert|emerg)\]`), "give its access log (the directive access_log names it)"},
	{"an error log of Apache", regexp.MustCompile(`^\[[A-Z][a-z]{2} [A-Z][a-z]{2} +\d+ [\d:.]+ \d{4}\] \[`), "give its access log (the directive CustomLog names it)"},
	{"HAProxy's TCP format", regexp.MustCompile(`\[` + zoneless + `\] \S+ \S+/\S+ [-+/\d]+ \d+ [-A-Za-z]{2} `), "have HAProxy log requests: option httplog"},
	{"a log without times", regexp.MustCompile(`^(?:INFO: +)?\S+ - ` + quoted + ` \d{3}`), "have the server log times, as in the Common Log Format"},
	{"JSON without a request that is known", regexp.MustCompile(`^\{"`), `convert it with jq, as in: jq -r '"- - - [\(.TIME | strftime("%d/%b/%Y:%H:%M:%S +0000"))] \"\(.METHOD) \(.PATH) HTTP/1.1\" 200 -"'`},
}

// timeForms are the forms of times in logs. time.Parse reads fractions of seconds after each.
var timeForms = []string{
	"02/Jan/2006:15:04:05 -0700", time.RFC3339, "2006-01-02T15:04:05Z0700", "2006-01-02 15:04:05Z07:00", "2006-01-02 15:04:05 -0700",
	"02/Jan/2006:15:04:05", "2006/01/02 15:04:05", "2006-01-02 15:04:05",
}

// parseLogTime reads a time in one of timeForms, or as a number since 1970: of seconds or, by its
// size, of milliseconds, microseconds or nanoseconds.
func parseLogTime(text string) (at time.Time, ok bool) {
	if n, err := strconv.ParseFloat(text, 64); err == nil && n > 0 && n < 1e19 {
		for n > 1e11 { // as seconds that is after the year 5000
			n /= 1000
		}
		// A float of seconds is exact to about a microsecond.
		return time.UnixMicro(int64(n*1e6 + .5)).UTC(), true
	}
	for _, form := range timeForms {
		if at, err := time.Parse(form, text); err == nil {
			return at, true
		}
	}
	return at, false
}

// byPattern reads lines that match a pattern with two groups, the time and the request line.
func byPattern(pattern string) func(*logParser, string) (time.Time, string, bool) {
	re := regexp.MustCompile(pattern)
	return func(_ *logParser, text string) (at time.Time, request string, ok bool) {
		m := re.FindStringSubmatchIndex(text)
		if m == nil {
			return at, request, false
		}
		at, ok = parseLogTime(text[m[2]:m[3]])
		return at, unescaped(text[m[4]:m[5]]), ok
	}
}

// haproxy undoes the escapes of HAProxy, which writes a byte as # and two digits.
func haproxy(read func(*logParser, string) (time.Time, string, bool)) func(*logParser, string) (time.Time, string, bool) {
	return func(p *logParser, text string) (time.Time, string, bool) {
		at, request, ok := read(p, text)
		return at, hexEscaped.ReplaceAllStringFunc(request, func(s string) string { return string([]byte{fromHex(s[1:])}) }), ok
	}
}

var hexEscaped = regexp.MustCompile(`#[0-9A-F]{2}`)

// fromHex returns the byte that two hexadecimal digits mean.
func fromHex(digits string) byte {
	n, _ := strconv.ParseUint(digits, 16, 8) // the patterns let only digits through
	return byte(n)
}

// unescaped undoes the escapes of nginx and Apache in a quoted string: \xHH, \" and \\, and the letters for
// white space.
func unescaped(s string) string {
	if !strings.Contains(s, `\`) {
		return s
	}
	return escapes.ReplaceAllStringFunc(s, func(e string) string {
		if len(e) == 4 {
			return string([]byte{fromHex(e[2:])})
		}
		if i := strings.IndexByte(`nrtvbf`, e[1]); i >= 0 {
			return "\n\r\t\v\b\f"[i : i+1]
		}
		return e[1:]
	})
}

var escapes = regexp.MustCompile(`\\(?:x[0-9A-Fa-f]{2}|.)`)

// byKeys reads lines with a JSON object. Keys are paths with dots. at lists keys for the time, of
// which the first that is there counts. Without target the key method holds the request line.
func byKeys(at, method, target string) func(*logParser, string) (time.Time, string, bool) {
	return func(_ *logParser, text string) (when time.Time, request string, ok bool) {
		begin := strings.IndexByte(text, '{') // after a prefix of syslog or Docker Compose
		if begin < 0 {
			return when, request, false
		}
		var object map[string]any
		decoder := json.NewDecoder(strings.NewReader(text[begin:]))
		decoder.UseNumber()
		if decoder.Decode(&object) != nil {
			return when, request, false
		}
		request, ok = textAt(object, method)
		if target != "" && ok {
			var path string
			path, ok = textAt(object, target)
			request += " " + path
		}
		if !ok {
			return when, request, false
		}
		for key := range strings.SplitSeq(at, "|") {
			if text, has := textAt(object, key); has {
				when, ok = parseLogTime(text)
				return when, request, ok
			}
		}
		return when, request, false
	}
}

// textAt returns the string or number at a path of keys joined by dots.
func textAt(object map[string]any, path string) (text string, ok bool) {
	key, rest, deeper := strings.Cut(path, ".")
	if inner, is := object[key].(map[string]any); deeper && is {
		return textAt(inner, rest)
	}
	switch v := object[key].(type) {
	case string:
		return v, !deeper
	case json.Number:
		return v.String(), !deeper
	}
	return "", false
}

// undocked returns the line in a line of Docker's json-file driver, which keeps each as a string in JSON;
// other lines as they are.
func undocked(text string) string {
	if !strings.HasPrefix(text, `{"log":`) {
		return text
	}
	var line struct{ Log, Stream *string }
	if json.Unmarshal([]byte(text), &line) != nil || line.Log == nil || line.Stream == nil {
		return text
	}
	return strings.TrimSpace(*line.Log)
}

// w3cColumns are the columns that the directives of a W3C Extended log name: IIS and CloudFront write such
// logs. The zero value is for a log without them.
type w3cColumns struct {
	index map[string]int // by name; nil before a #Fields line
	count int
	date  string // of #Date, for logs without a column date
}

// directive takes a line that begins with #, and reports whether it is one.
func (c *w3cColumns) directive(text string) bool {
	if !strings.HasPrefix(text, "#") {
		return false
	}
	if fields, is := strings.CutPrefix(text, "#Fields:"); is {
		c.index = map[string]int{}
		names := strings.Fields(fields)
		for i, name := range names {
			c.index[name] = i
		}
		c.count = len(names)
	}
	if date, is := strings.CutPrefix(text, "#Date:"); is {
		c.date, _, _ = strings.Cut(strings.TrimSpace(date), " ")
	}
	return true
}

// w3cLine reads a line of a W3C Extended log. Its times are UTC.
func w3cLine(p *logParser, text string) (at time.Time, request string, ok bool) {
	c := &p.columns
	fields := strings.Fields(text)
	if c.index == nil || len(fields) != c.count {
		return at, request, false
	}
	value := func(name string) string {
		if i, has := c.index[name]; has && fields[i] != "-" {
			return fields[i]
		}
		return ""
	}
	date := value("date")
	if date == "" {
		date = c.date
	}
	at, ok = parseLogTime(date + " " + value("time"))
	request = value("cs-method") + " " + value("cs-uri-stem")
	if query := value("cs-uri-query"); query != "" {
		request += "?" + query
	}
	return at, request, ok
}

// otherMethod is the error for a request with a method other than GET and HEAD.
type otherMethod string

func (m otherMethod) Error() string { return fmt.Sprintf("method %s", string(m)) }

var (
	errNoRequest = errors.New("no request")
	methodToken  = regexp.MustCompile(`^[A-Za-z][A-Za-z_-]{0,31}$`)
)

// parseRequest reads a request line as a server logged it. Of a target in absolute form, as a proxy gets,
// it drops the host. The error is an otherMethod, or the reason why the request cannot be sent.
func parseRequest(line string) (r LogRequest, err error) {
	method, target, found := strings.Cut(line, " ")
	if !found || !methodToken.MatchString(method) {
		return r, errNoRequest
	}
	if method != "GET" && method != "HEAD" {
		return r, otherMethod(method)
	}
	if i := strings.LastIndex(target, " HTTP/"); i >= 0 {
		target = target[:i]
	}
	if scheme, rest, absolute := strings.Cut(target, "://"); absolute && (strings.EqualFold(scheme, "http") || strings.EqualFold(scheme, "https")) {
		_, target = SplitAuthority(rest)
	}
	if !strings.HasPrefix(target, "/") || strings.Contains(target, " ") {
		return r, errNoRequest
	}
	// A # is part of the target: a client never sends a fragment.
	target = EscapeTarget(strings.ReplaceAll(target, "#", "%23"))
	if _, err := url.ParseRequestURI(target); err != nil { // such as a bad %-escape
		return r, err
	}
	return LogRequest{method, target}, nil
}

// SplitAuthority splits a URL without its scheme into host and request target. The target begins with a /.
func SplitAuthority(rest string) (authority, target string) {
	end := strings.IndexAny(rest, "/?#")
	if end < 0 {
		return rest, "/"
	}
	if authority, target = rest[:end], rest[end:]; target[0] != '/' {
		target = "/" + target
	}
	return authority, target
}

// EscapeTarget escapes the bytes that no path or query may have (RFC 3986, sections 3.3 and 3.4), but for
// square brackets, which all clients send as they are. It changes nothing else: an escape that is there
// already stays, because %2F and / are different.
func EscapeTarget(s string) string {
	clean := true
	for i := range len(s) {
		clean = clean && !forbidden(s[i])
	}
	if clean {
		return s
	}
	var b strings.Builder
	for i := range len(s) {
		if forbidden(s[i]) {
			fmt.Fprintf(&b, "%%%02X", s[i])
		} else {
			b.WriteByte(s[i])
		}
	}
	return b.String()
}

// forbidden reports whether a byte must be escaped in a path or query.
func forbidden(c byte) bool {
	return c <= ' ' || c >= 0x7f || strings.IndexByte("\"<>\\^`{|}", c) >= 0
}
