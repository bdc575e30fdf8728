package model

import (
	"crypto/tls"
	"fmt"
	"io"
	"time"
)

// This file is TLS within a Conn: what the HTTP libraries read and write is plain, and the counts of bytes, by which a drain
// knows whether a connection is idle, are of the encrypted stream, as the kernel's are. The handshake is part of the first
// read, on the goroutine that serves the connection.
//
// Over HTTP/2 some frames belong to no request, and several requests may be under way. So bytes count as answered as soon as
// net/http has acted on their frames, and busy tells whether that has begun a request.

// Protocols of TLS's ALPN.
const (
	alpnHTTP2 = "h2"
	alpnHTTP1 = "http/1.1"
)

// ServerTLS returns the settings of TLS with a certificate and its key, from files in PEM form.
func ServerTLS(cert, key string, http2 bool) (*tls.Config, error) {
	own, err := tls.LoadX509KeyPair(cert, key)
	if err != nil {
		return nil, fmt.Errorf("reading the certificate: %w", err)
	}
	c := &tls.Config{Certificates: []tls.Certificate{own}, NextProtos: []string{alpnHTTP1}}
	if http2 {
		c.NextProtos = []string{alpnHTTP2, alpnHTTP1}
	}
	return c, nil
}

// An encrypted is the encrypted side of a connection, for crypto/tls.
type encrypted struct{ *Conn }

func (w encrypted) Read(p []byte) (int, error) { return w.readWire(p) }

func (w encrypted) Write(p []byte) (int, error) { return w.TCPConn.Write(p) }

func (w encrypted) Close() error { return nil } // the Conn closes itself

// secure makes c a connection of TLS. Call it before c is used.
func (c *Conn) secure(config *tls.Config) {
	if config != nil {
		c.tls = tls.Server(encrypted{c}, config)
	}
}

// flushTime is how long net/http may need to write the end of an answer over HTTP/2: it reports the connection as idle before.
const flushTime = 50 * time.Millisecond

// readWire reads from the socket, counts the bytes and stamps the read.
func (c *Conn) readWire(p []byte) (int, error) {
	if c.nextFrame {
		c.nextFrame = false
		c.markAnswered()
	}
	n, err := c.receive(p)
	if n > 0 { // net/http interrupts one read for each request
		c.read.Add(uint64(n))
	}
	return n, err
}

// frameHead is the length of an HTTP/2 frame's head. net/http reads the head in a Read of its own, and only after it has
// handled the previous frame.
const frameHead = 9

// readPlain reads what the client sent, decrypted if the connection speaks TLS.
func (c *Conn) readPlain(p []byte) (int, error) {
	if c.tls == nil {
		return c.readWire(p)
	}
	if !c.shaken {
		if err := c.tls.Handshake(); err != nil {
			return 0, err
		}
		c.shaken = true
		if c.stamps != nil {
			c.stamps.first.Store(0) // the reads so far were of no request
		}
		// Requests that share a connection at a time cannot share its stamps.
		if c.tls.ConnectionState().NegotiatedProtocol == alpnHTTP2 {
			c.streams, c.stamps = true, nil
		} else {
			c.markAnswered() // the client may have come for the handshake alone so far
		}
	}
	c.nextFrame = c.streams && len(p) == frameHead
	n, err := c.tls.Read(p)
	// The bytes may have come with the handshake, or with the request before.
	if n > 0 && !c.streams {
		c.beginRequest()
	}
	return n, err
}

// writePlain writes to the client, encrypted if the connection speaks TLS.
func (c *Conn) writePlain(p []byte) (int, error) {
	if c.tls == nil {
		return c.TCPConn.Write(p)
	}
	return c.tls.Write(p)
}

// ReadFrom writes what r has. Over TLS it must not bypass the encryption, as the method of the TCP connection would.
func (c *Conn) ReadFrom(r io.Reader) (int64, error) {
	if c.tls == nil {
		return c.TCPConn.ReadFrom(r)
	}
	return io.Copy(struct{ io.Writer }{c}, r)
}

// closeNotify tells the client that no more comes, unless a drain closes the connection, which must not wait. The client
// could otherwise not tell the end from an attack (RFC 8446, section 6.1).
func (c *Conn) closeNotify() {
	if c.tls == nil || c.listener.Draining() {
		return
	}
	_ = c.tls.Close() // unlike CloseWrite, it does not wait for a Write under way; the socket stays open
	_ = c.SetWriteDeadline(time.Time{})
}
