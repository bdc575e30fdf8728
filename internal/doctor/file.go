package doctor

import (
	"io/fs"
	"strconv"
	"strings"

	"schedlab/internal/record"
)

// text returns a file's content without surrounding space. It returns "" when the file cannot be
// read: the machine does not tell.
func (m *Machine) text(name string) string {
	data, err := fs.ReadFile(m.Root, name)
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(data))
}

// number reads a file that holds one integer.
func (m *Machine) number(name string) (n int, ok bool) {
	n, err := strconv.Atoi(m.text(name))
	return n, err == nil
}

// kibibytes returns the value of a line of /proc/meminfo, converted from KiB to bytes.
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

// listed formats CPUs like 0-3,5.
func listed(cpus []int) string { return record.CPUs(cpus).String() }
