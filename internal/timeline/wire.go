package timeline

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// magic is the first line of a stream of stamps.
const magic = "schedlab timeline 1\n"

// LostHeader is the header of a server's answer that gives the number of requests that it
// stamped and no longer holds, because newer ones took their place.
const LostHeader = "Schedlab-Timeline-Lost"

// Write writes a line that names the format, and then the fields of each stamp, in order, as
// little-endian 64-bit numbers.
func Write(w io.Writer, stamps []Server) error {
	out := bufio.NewWriter(w)
	if _, err := out.WriteString(magic); err != nil {
		return err
	}
	var b []byte
	for i := range stamps {
		b, _ = binary.Append(b[:0], binary.LittleEndian, &stamps[i]) // a struct of numbers: it cannot fail
		if _, err := out.Write(b); err != nil {
			return err
		}
	}
	return out.Flush()
}

// Read reads stamps in the format of Write, to the end of r. It returns an error
// for more than MaxRing requests, another format, or a stream that ends within a
// request.
func Read(r io.Reader) ([]Server, error) {
	in := bufio.NewReader(r)
	head := make([]byte, len(magic))
	if _, err := io.ReadFull(in, head); err != nil || string(head) != magic {
		return nil, fmt.Errorf("reading a timeline: it does not begin with %q", magic[:len(magic)-1])
	}
	var stamps []Server
	var s Server
	b := make([]byte, binary.Size(s))
	for {
		switch _, err := io.ReadFull(in, b); {
		case errors.Is(err, io.EOF):
			return stamps, nil
		case err != nil:
			return nil, fmt.Errorf("reading a timeline: request %d: %w", len(stamps), err)
		case len(stamps) == MaxRing:
			return nil, fmt.Errorf("reading a timeline: more than %d requests", MaxRing)
		}
		_, _ = binary.Decode(b, binary.LittleEndian, &s) // b has its size
		stamps = append(stamps, s)
	}
}
