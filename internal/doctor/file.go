package doctor

import (
	"io/fs"
	"strconv"
	"strings"

	"schedlab/internal/record"
)

// text is a file's content, "" when it cannot be read: what a machine does not
// tell is unknown.
func (m *Machine) text(name string) string {
	data, err := fs.ReadFile(m.Root, name)
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(data))
}

// number is a file that holds one whole number.
func (m *Machine) number(name string) (n int, ok bool) {
	n, err := strconv.Atoi(m.text(name))
	return n, err == nil
}

// kibibytes is the value of a line of /proc/meminfo, in bytes.
func (m *Machine) kibibytes(key string) (bytes uint64, ok bool) {
	for line := range strings.Lines(m.text("proc/meminfo")) {
		name, value, _ := strings.Cut(line, ":")
		if fields := strings.Fields(value); name == key && len(fields) > 0 {
			n, err := strconv.ParseUint(fields[0], 10, 64)
			return n << 10, err == nil
		}
	}
	return 0, false
}

// listed writes CPUs as 0-3,5.
func listed(cpus []int) string { return record.CPUs(cpus).String() }
