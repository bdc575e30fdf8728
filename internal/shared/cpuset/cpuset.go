// Package cpuset reads and writes lists of CPUs, such as 0-3,5.
package cpuset

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// A Set is a set of CPU numbers, ascending and without duplicates. Its text form is the kernel's, such as 0-3,5.
type Set []int

// most is above every CPU number that Linux supports.
const most = 1 << 13

// Parse parses a list such as 0-3,5. An empty list is an error. CPUs may be listed in any order, and twice.
func Parse(list string) (set Set, err error) {
	for part := range strings.SplitSeq(list, ",") {
		lo, hi, ranged := strings.Cut(part, "-")
		if !ranged {
			hi = lo
		}
		from, err1 := strconv.Atoi(lo)
		to, err2 := strconv.Atoi(hi)
		if err1 != nil || err2 != nil || from < 0 || to < from || to >= most {
			return nil, fmt.Errorf("%q is not a list of CPUs like 0-3,5", list)
		}
		for cpu := from; cpu <= to; cpu++ {
			set = append(set, cpu)
		}
	}
	slices.Sort(set)
	return slices.Compact(set), nil
}

// Count returns the number of CPUs that list names. If it names none, it returns otherwise, at least 1.
func Count(list string, otherwise int) int {
	if set, err := Parse(list); err == nil {
		return len(set)
	}
	return max(otherwise, 1)
}

// Without returns the CPUs of s that are not in other.
func (s Set) Without(other Set) Set {
	return slices.DeleteFunc(slices.Clone(s), func(cpu int) bool { return slices.Contains(other, cpu) })
}

// Shared returns the CPUs that server and load have in common. It returns nil if the server has
// no CPU for itself.
func Shared(server, load Set) Set {
	own := server.Without(load)
	if len(own) == 0 {
		return nil
	}
	return server.Without(own)
}

// String returns s as a list such as 0-3,5.
func (s Set) String() string {
	var parts []string
	for i := 0; i < len(s); i++ {
		first, part := i, strconv.Itoa(s[i])
		for i+1 < len(s) && s[i+1] == s[i]+1 {
			i++
		}
		if i > first {
			part += "-" + strconv.Itoa(s[i])
		}
		parts = append(parts, part)
	}
	return strings.Join(parts, ",")
}

// Words returns s for use in a sentence: "CPU 1", or "CPUs 0-3".
func (s Set) Words() string {
	if len(s) == 1 {
		return "CPU " + s.String()
	}
	return "CPUs " + s.String()
}
