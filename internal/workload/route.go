package workload

import "strings"

// A Route identifies an endpoint in metrics. It is below NumRoutes, so an array
// indexed by Route can hold resolved metric children.
type Route uint8

// The routes, in the order in which `GET /` lists them. RouteOther stands for every
// path that is not an endpoint.
const (
	RouteRoot Route = iota
	RoutePlaintext
	RouteJSON
	RouteWork
	RouteKV
	RouteEcho
	RouteBytes
	RouteOther
	NumRoutes // the number of routes, not a route
)

// routes has, by Route, the metric label, the path as the index shows it, the methods of the Allow
// header, and a line of help. RouteOther lists every method that some endpoint has: they are the
// Allow of a CONNECT or TRACE for another path.
var routes = [NumRoutes]struct{ label, path, allow, summary string }{
	RouteRoot:      {"/", "/", "GET, HEAD", "this list"},
	RoutePlaintext: {"/plaintext", "/plaintext", "GET, HEAD", "a constant line of text"},
	RouteJSON:      {"/json", "/json", "GET, HEAD", "a small object, encoded per request"},
	RouteWork:      {"/work", "/work", "GET, HEAD", "costs what ?cpu= (or ?iters=), ?lock= and ?sleep= say: 200us, exp(200us), lognormal(200us,4), 0.8*0s+0.2*10ms; ?alloc=64KiB; ?seed= fixes the draw"},
	RouteKV:        {"/kv", "/kv/{key}", "GET, HEAD, PUT, DELETE", "a map behind one lock or many (--kv-locks), values up to 64 KiB; ?hold=100us of CPU time under the lock; ?keys=4096 spreads requests over so many keys"},
	RouteEcho:      {"/echo", "/echo", "POST, PUT", "the request's body"},
	RouteBytes:     {"/bytes", "/bytes/{n}", "GET, HEAD", "n bytes, up to 1 MiB"},
	RouteOther:     {"other", "", "GET, HEAD, POST, PUT, DELETE", ""},
}

// String returns the metric label: "/", "/plaintext", ..., "other".
func (r Route) String() string {
	if r >= NumRoutes {
		r = RouteOther
	}
	return routes[r].label
}

// RouteOf returns the endpoint that Serve would set for a path as sent. It is for
// requests that never reach their handler.
func RouteOf(path string) Route {
	r, _, _ := locate(path)
	return r
}

// locate decodes a path as sent and finds its endpoint; ok is false when a
// percent-escape is malformed.
func locate(path string) (r Route, rest string, ok bool) {
	if strings.IndexByte(path, '%') >= 0 {
		if path, ok = unescape(path); !ok {
			return RouteOther, "", false
		}
	}
	r, rest = routeOf(path)
	return r, rest, true
}

// routeOf returns the endpoint of a decoded path and, for /kv/ and /bytes/, the rest
// of the path after the prefix.
func routeOf(path string) (r Route, rest string) {
	switch path {
	case "/":
		return RouteRoot, ""
	case "/plaintext":
		return RoutePlaintext, ""
	case "/json":
		return RouteJSON, ""
	case "/work":
		return RouteWork, ""
	case "/echo":
		return RouteEcho, ""
	}
	if key, ok := strings.CutPrefix(path, "/kv/"); ok {
		return RouteKV, key
	}
	if n, ok := strings.CutPrefix(path, "/bytes/"); ok {
		return RouteBytes, n
	}
	return RouteOther, ""
}

// allows reports whether r serves method.
func (r Route) allows(method string) bool {
	for m := range strings.SplitSeq(routes[r].allow, ", ") {
		if m == method {
			return true
		}
	}
	return false
}

// index returns the answer to `GET /`.
func index() []byte {
	var b strings.Builder
	b.WriteString("schedlab: one handler set, many scheduling models\n\n")
	for _, r := range routes[:RouteOther] {
		b.WriteString(r.path + "  [" + r.allow + "]  " + r.summary + "\n")
	}
	return []byte(b.String())
}
