package record

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// CPUs is a set of CPU numbers, ascending and without duplicates. Its text form is the kernel's,
// such as 0-3,5.
type CPUs []int

// mostCPUs is above every CPU number that Linux supports.
const mostCPUs = 1 << 13

// ParseCPUs parses a list such as 0-3,5.
// An empty list is an error. CPUs may be listed in any order, and twice.
func ParseCPUs(list string) (set CPUs, err error) {
	for part := range strings.SplitSeq(list, ",") {
		lo, hi, ranged := strings.Cut(part, "-")
		if !ranged {
			hi = lo
		}
		from, err1 := strconv.Atoi(lo)
		to, err2 := strconv.Atoi(hi)
		if err1 != nil || err2 != nil || from < 0 || to < from || to >= mostCPUs {
			return nil, fmt.Errorf("%q is not a list of CPUs like 0-3,5", list)
		}
		for cpu := from; cpu <= to; cpu++ {
			set = append(set, cpu)
		}
	}
	slices.Sort(set)
	return slices.Compact(set), nil
}

// CountCPUs returns the number of CPUs that list names. If it names none, it returns otherwise,
// at least 1.
func CountCPUs(list string, otherwise int) int {
	if set, err := ParseCPUs(list); err == nil {
		return len(set)
	}
	return max(otherwise, 1)
}

// Without returns the CPUs of s that are not in other.
func (s CPUs) Without(other CPUs) CPUs {
	return slices.DeleteFunc(slices.Clone(s), func(cpu int) bool { return slices.Contains(other, cpu) })
}

// Shared returns the CPUs that server and load have in common. It returns nil if the server has
// no CPU for itself.
func Shared(server, load CPUs) CPUs {
	own := server.Without(load)
	if len(own) == 0 {
		return nil
	}
	return server.Without(own)
}

// String returns s as a list such as 0-3,5.
func (s CPUs) String() string {
	var parts []string
	for i := 0; i < len(s); i++ {
		first := i
		for i+1 < len(s) && s[i+1] == s[i]+1 {
			i++
		}
		if i > first {
			parts = append(parts, fmt.Sprintf("%d-%d", s[first], s[i]))
		} else {
			parts = append(parts, strconv.Itoa(s[i]))
		}
	}
	return strings.Join(parts, ",")
}

// Words returns s for use in a sentence: "CPU 1", or "CPUs 0-3".
func (s CPUs) Words() string {
	if len(s) == 1 {
		return "CPU " + s.String()
	}
	return "CPUs " + s.String()
}
