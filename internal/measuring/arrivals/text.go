package arrivals

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
)

// packings lists the beginnings of files that must be unpacked or converted before they are read, with
// the command that does it.
var packings = []struct{ magic, what, command string }{
	{"\x28\xb5\x2f\xfd", "packed by zstd", "zstd -dc FILE > NEW"},
	{"\xfd7zXZ\x00", "packed by xz", "xz -dc FILE > NEW"},
	{"BZh91AY&SY", "packed by bzip2", "bzip2 -dc FILE > NEW"},
	{"PK\x03\x04", "a zip archive", "unzip -p FILE > NEW"},
	{"\xff\xfe", "UTF-16", "iconv -f UTF-16 -t UTF-8 FILE > NEW"},
	{"\xfe\xff", "UTF-16", "iconv -f UTF-16 -t UTF-8 FILE > NEW"},
}

// maxText limits the text that is read of one file, after unpacking. A small file may be packed from a huge
// one.
const maxText = 4 << 30

// Text returns the text in a file: without a byte order mark, and unpacked if gzip has packed it. It
// returns an error, with the command that helps, for a file that is packed in another way or is UTF-16.
// Reading more than 4 GiB of text is an error.
func Text(r io.Reader) (io.Reader, error) {
	in := bufio.NewReader(r)
	if begin, _ := in.Peek(2); bytes.Equal(begin, []byte{0x1f, 0x8b}) { // the magic number of RFC 1952
		zip, err := gzip.NewReader(in)
		if err != nil {
			return nil, fmt.Errorf("reading a gzip file: %w", err)
		}
		in = bufio.NewReader(zip)
	}
	begin, _ := in.Peek(16) // fewer at the end of a short file
	for _, p := range packings {
		if bytes.HasPrefix(begin, []byte(p.magic)) {
			return nil, fmt.Errorf("the file is %s; convert it: %s", p.what, p.command)
		}
	}
	if bytes.HasPrefix(begin, []byte("\ufeff")) {
		_, _ = in.Discard(len("\ufeff")) // it was peeked at
	}
	return &bounded{in, maxText}, nil
}

// A bounded reader fails when more than left bytes are read from r.
type bounded struct {
	r    io.Reader
	left int64
}

var errTooMuchText = fmt.Errorf("more than %d GiB of text; take a part of the file", maxText>>30)

// Read implements io.Reader.
func (b *bounded) Read(p []byte) (int, error) {
	if b.left <= 0 {
		return 0, errTooMuchText
	}
	n, err := b.r.Read(p[:min(int64(len(p)), b.left)])
	b.left -= int64(n)
	return n, err
}

// eachLine calls f with each line of a file (see Text) and its number, from 1. Of a line with more than
// longest bytes f gets the first of them, and whole is false. Errors begin with the file's name and the
// line's number.
func eachLine(name string, r io.Reader, longest int, f func(number int, text string, whole bool) error) error {
	text, err := Text(r)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	lines := bufio.NewReaderSize(text, longest+1) // a line and its line feed
	for number := 1; ; number++ {
		line, err := lines.ReadSlice('\n')
		whole := !errors.Is(err, bufio.ErrBufferFull)
		if whole && err != nil && err != io.EOF {
			return fmt.Errorf("%s:%d: %w", name, number, err)
		}
		line = bytes.TrimSuffix(line, []byte{'\n'})
		if err == io.EOF && len(line) == 0 {
			return nil
		}
		if err := f(number, string(line[:min(len(line), longest)]), whole && len(line) <= longest); err != nil {
			return fmt.Errorf("%s:%d: %w", name, number, err)
		}
		for errors.Is(err, bufio.ErrBufferFull) { // the rest of a long line
			_, err = lines.ReadSlice('\n')
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return fmt.Errorf("%s:%d: %w", name, number, err)
		}
	}
}
