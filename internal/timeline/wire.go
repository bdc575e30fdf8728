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

// stampBytes is the length of one request's stamps in the stream.
const stampBytes = 9 * 8

// Write writes a line that names the format, and then the stamps as little-endian
// 64-bit numbers.
func Write(w io.Writer, stamps []Server) error {
	out := bufio.NewWriter(w)
	if _, err := out.WriteString(magic); err != nil {
		return err
	}
	var b []byte
	for _, s := range stamps {
		b = binary.LittleEndian.AppendUint64(b[:0], s.Seq)
		for _, at := range [...]int64{s.Accept, s.Received, s.Read, s.Enqueue, s.Dequeue, s.Begin, s.End, s.Write} {
			b = binary.LittleEndian.AppendUint64(b, uint64(at))
		}
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
	b := make([]byte, stampBytes)
	for {
		switch _, err := io.ReadFull(in, b); {
		case errors.Is(err, io.EOF):
			return stamps, nil
		case err != nil:
			return nil, fmt.Errorf("reading a timeline: request %d: %w", len(stamps), err)
		case len(stamps) == MaxRing:
			return nil, fmt.Errorf("reading a timeline: more than %d requests", MaxRing)
		}
		n := func(i int) int64 { return int64(binary.LittleEndian.Uint64(b[8*i:])) }
		stamps = append(stamps, Server{
			Seq: uint64(n(0)), Accept: n(1), Received: n(2), Read: n(3),
			Enqueue: n(4), Dequeue: n(5), Begin: n(6), End: n(7), Write: n(8),
		})
	}
}
