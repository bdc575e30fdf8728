package request

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"reflect"
	"syscall"
)

// OfHandshake returns the end of a request that got no connection because the TLS handshake failed with err.
func OfHandshake(err error) End {
	if end := OfCertificate(err); end != 0 {
		return end
	}
	switch {
	case errors.Is(err, syscall.ECONNRESET):
		return Reset
	case errors.Is(err, io.EOF): // the server closed the connection in the handshake
		return Closed
	}
	return NoTLS
}

// OfCertificate returns the end of a request for which client and server did not agree on a certificate or a protocol; 0 if err
// has another cause.
func OfCertificate(err error) End {
	var (
		unknown  x509.UnknownAuthorityError
		invalid  x509.CertificateInvalidError
		host     x509.HostnameError
		verified *tls.CertificateVerificationError
	)
	switch {
	case errors.As(err, &invalid) && invalid.Reason == x509.Expired:
		return Expired
	case errors.As(err, &host):
		return OtherHost
	case errors.As(err, &unknown), errors.As(err, &invalid), errors.As(err, &verified):
		return Untrusted
	}
	return alerted(err)
}

// alerted returns the end of a request that the server refused by an alert of TLS; 0 if no alert says so. RFC 8446, section 6
// has the numbers.
func alerted(err error) End {
	var remote *net.OpError
	if !errors.As(err, &remote) || remote.Op != "remote error" {
		return 0
	}
	// The type of an alert in crypto/tls has no name outside, but it is its number.
	number := reflect.ValueOf(remote.Err)
	if number.Kind() != reflect.Uint8 {
		return 0
	}
	switch number.Uint() {
	case 120: // no_application_protocol
		return NoHTTP2
	case 42, 48, 116: // bad_certificate, unknown_ca, certificate_required
		return NoClientCert
	}
	return 0
}
