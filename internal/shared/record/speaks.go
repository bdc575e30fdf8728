package record

import (
	"fmt"
	"strconv"
	"strings"

	"schedlab/internal/shared/cmdline"
)

// Speaks tells what clients speak to a server: the settings http, tls, cert, key, host and streams of a scenario. The zero
// Speaks is HTTP/1.1 without TLS, by the server's address. A record has it as text, in words like http=2 tls=insecure.
type Speaks struct {
	HTTP2   bool   // HTTP/2, which is called h2 over TLS and h2c without
	TLS     string // TrustKnown, TrustAny, or the file of the certificates to trust; "": no TLS
	Cert    string // file of the clients' own certificate
	Key     string // file of its key; "": it is in Cert
	Host    string // name that is asked for, also of the certificate; "": the address
	Streams int    // requests under way on a connection of HTTP/2 at most; 0: the engine's default
}

// Values of TLS in Speaks.
const (
	TrustKnown = "on"       // the certificates of the authorities that this machine knows
	TrustAny   = "insecure" // any certificate
)

// String returns the settings that are not zero, as words KEY=VALUE for a shell.
func (s Speaks) String() string {
	var words []string
	add := func(key, value string) {
		if value != "" && value != "0" {
			words = append(words, key+"="+value)
		}
	}
	if s.HTTP2 {
		add("http", "2")
	}
	add("tls", s.TLS)
	add("cert", s.Cert)
	add("key", s.Key)
	add("host", s.Host)
	add("streams", strconv.Itoa(s.Streams))
	return cmdline.Join(words)
}

// MarshalText writes what String returns.
func (s Speaks) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText reads what String returns.
func (s *Speaks) UnmarshalText(text []byte) error {
	*s = Speaks{}
	if len(text) == 0 {
		return nil
	}
	words, err := cmdline.Split(string(text))
	if err != nil {
		return err
	}
	for _, word := range words {
		key, value, _ := strings.Cut(word, "=")
		switch key {
		case "http":
			s.HTTP2 = value == "2"
		case "tls":
			s.TLS = value
		case "cert":
			s.Cert = value
		case "key":
			s.Key = value
		case "host":
			s.Host = value
		case "streams":
			if s.Streams, err = strconv.Atoi(value); err != nil {
				return fmt.Errorf("streams: %w", err)
			}
		default:
			return fmt.Errorf("%q is none of the settings http, tls, cert, key, host and streams", key)
		}
	}
	return nil
}
