package record

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
)

// MaxRequests is the largest number of requests one file may hold. Both
// Encode and Decode refuse more.
const MaxRequests = 50_000_000

const (
	requestsMagic   = "schedlab requests"
	requestsVersion = 1
)

// A column is one field of Request on its way to and from a varint. Columns
// that follow another field are stored as their distance from it, so that a
// steady trial compresses to a few bytes a request.
type column struct {
	name string
	get  func(r Request, prev Request) int64
	set  func(r *Request, prev Request, v int64) bool // false: v is out of range
}

// columns are the layout of version 1, in file order. Differences wrap, so
// every int64 survives the round trip.
func columns() []column {
	return []column{
		{"scheduled", func(r, p Request) int64 { return r.Scheduled - p.Scheduled },
			func(r *Request, p Request, v int64) bool { r.Scheduled = p.Scheduled + v; return true }},
		{"sent", func(r, _ Request) int64 { return r.Sent - r.Scheduled },
			func(r *Request, _ Request, v int64) bool { r.Sent = r.Scheduled + v; return true }},
		{"done", func(r, _ Request) int64 { return r.Done - r.Scheduled },
			func(r *Request, _ Request, v int64) bool { r.Done = r.Scheduled + v; return true }},
		{"bytes", func(r, p Request) int64 { return int64(r.Bytes) - int64(p.Bytes) },
			func(r *Request, p Request, v int64) bool { return narrow(&r.Bytes, p.Bytes, v, math.MaxUint32) }},
		{"status", func(r, p Request) int64 { return int64(r.Status) - int64(p.Status) },
			func(r *Request, p Request, v int64) bool { return narrow(&r.Status, p.Status, v, math.MaxUint16) }},
		{"outcome", func(r, p Request) int64 { return int64(r.Outcome) - int64(p.Outcome) },
			func(r *Request, p Request, v int64) bool {
				return narrow(&r.Outcome, p.Outcome, v, int64(outcomes)-1)
			}},
		{"iters", func(r, _ Request) int64 { return int64(r.Iters) },
			func(r *Request, _ Request, v int64) bool { return narrow(&r.Iters, 0, v, math.MaxUint32) }},
		{"sleep", func(r, _ Request) int64 { return r.Sleep },
			func(r *Request, _ Request, v int64) bool { r.Sleep = v; return true }},
	}
}

// narrow stores prev + v in dst when it lies in 0..limit.
func narrow[T ~uint8 | ~uint16 | ~uint32](dst *T, prev T, v, limit int64) bool {
	if v > math.MaxUint32 || v < -math.MaxUint32 {
		return false
	}
	sum := int64(prev) + v
	if sum < 0 || sum > limit {
		return false
	}
	*dst = T(sum)
	return true
}

// Encode writes requests in the columnar format of requests.col.gz: inside
// gzip, the words "schedlab requests", a version byte, the count as a uvarint,
// then one column after the other as zigzag varints. It refuses more than
// MaxRequests and any unknown Outcome.
func Encode(w io.Writer, requests []Request) error {
	if len(requests) > MaxRequests {
		return fmt.Errorf("encoding requests: %d are more than the limit of %d", len(requests), MaxRequests)
	}
	for i, r := range requests {
		if r.Outcome >= outcomes {
			return fmt.Errorf("encoding request %d: unknown outcome %d", i, r.Outcome)
		}
	}
	zip, err := gzip.NewWriterLevel(w, gzip.BestSpeed)
	if err != nil {
		return fmt.Errorf("encoding requests: %w", err)
	}
	out := bufio.NewWriter(zip)
	buf := append([]byte(requestsMagic), requestsVersion)
	buf = binary.AppendUvarint(buf, uint64(len(requests)))
	if _, err := out.Write(buf); err != nil {
		return fmt.Errorf("encoding requests: %w", err)
	}
	for _, c := range columns() {
		var prev Request
		for _, r := range requests {
			if _, err := out.Write(binary.AppendVarint(buf[:0], c.get(r, prev))); err != nil {
				return fmt.Errorf("encoding column %q: %w", c.name, err)
			}
			prev = r
		}
	}
	if err := errors.Join(out.Flush(), zip.Close()); err != nil {
		return fmt.Errorf("encoding requests: %w", err)
	}
	return nil
}

// Decode reads what Encode wrote, to the end of r. Memory grows with what is
// really there, never with what the count claims, and stays below MaxRequests
// requests. Errors name the column, the request and the offset in the
// uncompressed data; a file of a newer version is named as such.
func Decode(r io.Reader) ([]Request, error) {
	zip, err := gzip.NewReader(r)
	if err != nil {
		return nil, fmt.Errorf("decoding requests: not a gzip file: %w", whole(err))
	}
	in := &offsetReader{r: bufio.NewReader(zip)}
	count, err := decodeHeader(in)
	if err != nil {
		return nil, fmt.Errorf("decoding requests: %w", err)
	}
	var requests []Request
	for i, c := range columns() {
		var prev Request
		for n := range count {
			at := in.offset
			v, err := binary.ReadVarint(in)
			if err != nil {
				return nil, fmt.Errorf("decoding requests: column %q, request %d of %d, offset %d: %w", c.name, n, count, at, whole(err))
			}
			if i == 0 {
				requests = append(requests, Request{})
			}
			if !c.set(&requests[n], prev, v) {
				return nil, fmt.Errorf("decoding requests: column %q, request %d of %d, offset %d: difference %d leaves the column's range", c.name, n, count, at, v)
			}
			prev = requests[n]
		}
	}
	// Reading the end also makes gzip check its sum over everything before.
	switch _, err := in.ReadByte(); {
	case err == nil:
		return nil, fmt.Errorf("decoding requests: data after the last column, offset %d", in.offset-1)
	case !errors.Is(err, io.EOF):
		return nil, fmt.Errorf("decoding requests: offset %d: %w", in.offset, err)
	}
	return requests, nil
}

func decodeHeader(in *offsetReader) (count int, err error) {
	head := make([]byte, len(requestsMagic)+1)
	if _, err := io.ReadFull(in, head); err != nil {
		return 0, fmt.Errorf("header: %w", whole(err))
	}
	if !bytes.HasPrefix(head, []byte(requestsMagic)) {
		return 0, errors.New("header: not a schedlab requests file")
	}
	if v := head[len(requestsMagic)]; v != requestsVersion {
		return 0, fmt.Errorf("format version %d, this schedlab reads version %d: use a newer schedlab", v, requestsVersion)
	}
	n, err := binary.ReadUvarint(in)
	if err != nil {
		return 0, fmt.Errorf("count: %w", whole(err))
	}
	if n > MaxRequests {
		return 0, fmt.Errorf("count: %d requests are more than the limit of %d", n, MaxRequests)
	}
	return int(n), nil
}

// whole turns the end of input into an error that says a file was cut short.
func whole(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// offsetReader counts what was read of the uncompressed data.
type offsetReader struct {
	r      *bufio.Reader
	offset int64
}

func (o *offsetReader) Read(p []byte) (int, error) {
	n, err := o.r.Read(p)
	o.offset += int64(n)
	return n, err
}

func (o *offsetReader) ReadByte() (byte, error) {
	b, err := o.r.ReadByte()
	if err == nil {
		o.offset++
	}
	return b, err
}
