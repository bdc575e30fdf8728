package load

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"maps"
	"math"
	"net"
	"net/http"
	"net/http/httptrace"
	"os"
	"slices"
	"strings"
	"sync/atomic"

	"schedlab/internal/shared/record"
)

// DefaultStreams is the number of requests under way on a connection of HTTP/2 where Clients give none. RFC 9113,
// section 6.5.2, recommends that a server allows no fewer.
const DefaultStreams = 100

// EngineFor returns the name of the only engine that can speak for c; "" if every engine can.
func EngineFor(c record.Clients) string {
	if c.Speaks.TLS != "" || c.Speaks.HTTP2 {
		return EngineVegeta
	}
	return ""
}

// Secured returns targets with https in place of http, if secure is set.
func Secured(targets []Target, secure bool) []Target {
	secured := slices.Clone(targets)
	for i, t := range secured {
		if rest, plain := strings.CutPrefix(t.URL, "http://"); plain && secure {
			secured[i].URL = "https://" + rest
		}
	}
	return secured
}

// named returns targets with a Host header where host is not "" and they have none.
func named(targets []Target, host string) []Target {
	if host == "" {
		return targets
	}
	all := slices.Clone(targets)
	for i, t := range all {
		if !slices.ContainsFunc(slices.Collect(maps.Keys(t.Header)), isHost) {
			all[i].Header = http.Header{"Host": {host}}
			maps.Copy(all[i].Header, t.Header)
		}
	}
	return all
}

// Transport returns net/http's client for what c speaks: HTTP/1.1 or HTTP/2, with or without TLS. It reads the files that
// c names and dials nothing. It offers no TLS session again, so every connection has a full handshake.
func Transport(c record.Clients) (*http.Transport, error) {
	// Without DisableCompression net/http would ask for gzip and unpack it; without MaxIdleConnsPerHost
	// it would keep only two idle connections.
	t := &http.Transport{
		DisableCompression: true, DisableKeepAlives: !c.KeepAlive, MaxConnsPerHost: max(0, c.Connections), MaxIdleConnsPerHost: math.MaxInt,
		Protocols: new(http.Protocols),
	}
	// One protocol alone: a server that speaks another must not be measured by mistake.
	switch {
	case !c.Speaks.HTTP2:
		t.Protocols.SetHTTP1(true)
	case c.Speaks.TLS != "":
		t.Protocols.SetHTTP2(true)
	default:
		t.Protocols.SetUnencryptedHTTP2(true)
	}
	// Without this, a connection on which the server allows no more streams makes net/http open another.
	t.HTTP2 = &http.HTTP2Config{StrictMaxConcurrentRequests: c.Connections > 0}
	var err error
	t.TLSClientConfig, err = trust(c.Speaks)
	return t, err
}

// trust returns the client's side of TLS: which certificates it takes, under which name, and its own.
func trust(c record.Speaks) (*tls.Config, error) {
	config := &tls.Config{ServerName: hostname(c.Host), InsecureSkipVerify: c.TLS == record.TrustAny}
	if c.TLS != "" && c.TLS != record.TrustAny && c.TLS != record.TrustKnown {
		text, err := os.ReadFile(c.TLS)
		if err != nil {
			return nil, fmt.Errorf("certificates to trust: %w", err)
		}
		config.RootCAs = x509.NewCertPool()
		if !config.RootCAs.AppendCertsFromPEM(text) {
			return nil, fmt.Errorf("certificates to trust: %s has none in PEM form", c.TLS)
		}
	}
	if c.Cert == "" && c.Key == "" {
		return config, nil
	}
	own, err := tls.LoadX509KeyPair(c.Cert, cmp.Or(c.Key, c.Cert))
	if err != nil {
		return nil, fmt.Errorf("the client's certificate: %w", err)
	}
	config.Certificates = []tls.Certificate{own}
	return config, nil
}

// hostname returns a host without its port.
func hostname(host string) string {
	if name, _, err := net.SplitHostPort(host); err == nil {
		return name
	}
	return host
}

// The connections of the engine vegeta.
//
// Over HTTP/1.1 one Transport opens and limits them. Over HTTP/2 it would put all requests on one connection. So kept
// connections have a Transport each, and are used in turn; without keep-alive each request opens its own.
type connections struct {
	each  []*http.Transport
	fresh bool // each request opens a connection of HTTP/2
	// places has the index of a Transport for each request that may be under way on it; nil: no limit, or the Transport's
	// own. Requests take and return them in order of arrival.
	places chan int
	waited atomic.Uint64 // requests that found no connection free, or no place on one
}

// newConnections returns the connections of a load. It opens none.
func newConnections(c record.Clients) (*connections, error) {
	all, transports, places := &connections{fresh: c.Speaks.HTTP2 && !c.KeepAlive}, 1, 0
	switch {
	case !c.Speaks.HTTP2 || c.Connections <= 0:
	case all.fresh:
		places = c.Connections
	default:
		transports, places = c.Connections, c.Connections*cmp.Or(c.Speaks.Streams, DefaultStreams)
		c.Connections = 1
	}
	for range transports {
		t, err := Transport(c)
		if err != nil {
			return nil, err
		}
		all.each = append(all.each, t)
	}
	if places > 0 {
		all.places = make(chan int, places)
	}
	for i := range places {
		all.places <- i % transports
	}
	return all, nil
}

// take returns what sends the next request, which goes to addr. The caller calls free when the request has ended.
func (c *connections) take(ctx context.Context, scheme, addr string) (by http.RoundTripper, free func(), err error) {
	i, leave := 0, func() {}
	if c.places != nil {
		select {
		case i = <-c.places:
		default:
			c.waited.Add(1)
			select {
			case i = <-c.places:
			case <-ctx.Done():
				return nil, nil, ctx.Err()
			}
		}
		leave = func() { c.places <- i }
	}
	if !c.fresh {
		return c.each[i], leave, nil
	}
	// A Transport may open more connections than requests, and send several on one.
	conn, err := c.each[i].NewClientConn(ctx, scheme, addr)
	if err != nil {
		leave()
		return nil, nil, err
	}
	if trace := httptrace.ContextClientTrace(ctx); trace != nil && trace.GotConn != nil { // as a Transport does
		trace.GotConn(httptrace.GotConnInfo{})
	}
	return conn, func() { _ = conn.Close(); leave() }, nil
}

// close closes the connections that no request uses.
func (c *connections) close() {
	for _, t := range c.each {
		t.CloseIdleConnections()
	}
}

// checkSpoken returns an error if a load's engine does not speak what its clients and targets ask for.
func (o *Options) checkSpoken(secure, closed bool) error {
	needs := EngineFor(o.Clients)
	switch {
	case (secure || needs != "") && o.engine() != EngineVegeta:
		return fmt.Errorf("%s needs the engine vegeta", spoken(secure, o.Speaks))
	case o.Speaks.TLS != "" && !secure:
		return errors.New("settings of TLS for a target with http://; write https://")
	case o.Speaks.Streams > 0 && !o.Speaks.HTTP2:
		return fmt.Errorf("%d streams a connection without HTTP/2", o.Speaks.Streams)
	case closed && o.engine() == EngineVegeta && (o.Rate > 0 || o.Pause != nil || o.Session > 0 || o.Pipeline > 1 || o.Ramp.Duration > 0):
		return errors.New("clients of the engine vegeta have no pace, think times, sessions, pipeline or ramp")
	}
	return nil
}

// spoken names what a load speaks that the engine spin does not.
func spoken(secure bool, c record.Speaks) string {
	switch {
	case c.HTTP2:
		return "HTTP/2"
	case secure || c.TLS != "":
		return "https"
	}
	return "HTTP/1.1"
}
