package doctor

import (
	"io/fs"
	"strconv"
	"strings"
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

// cpuList reads a list of CPUs like 0-3,5; nil when it is none.
func cpuList(s string) (cpus []int) {
	for part := range strings.SplitSeq(strings.TrimSpace(s), ",") {
		lo, hi, ranged := strings.Cut(part, "-")
		if !ranged {
			hi = lo
		}
		from, err1 := strconv.Atoi(lo)
		to, err2 := strconv.Atoi(hi)
		if err1 != nil || err2 != nil || from < 0 || to < from || to-from > 1<<16 {
			return nil
		}
		for cpu := from; cpu <= to; cpu++ {
			cpus = append(cpus, cpu)
		}
	}
	return cpus
}

// listed writes CPUs as 0,1,5.
func listed(cpus []int) string {
	words := make([]string, len(cpus))
	for i, cpu := range cpus {
		words[i] = strconv.Itoa(cpu)
	}
	return strings.Join(words, ",")
}
