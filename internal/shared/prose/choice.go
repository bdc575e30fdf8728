package prose

import (
	"fmt"
	"strings"
)

// fewNames is the largest number of names that an error lists: a reader sees them at a glance and needs no guess.
const fewNames = 6

// Choice ends the error of a word that is none of names: with all of them, "(want one of nethttp, pool)", or where they
// are many with the one that the user most likely meant, "(did you mean pool?)".
func Choice(word string, names []string) string {
	if meant := DidYouMean(word, names); meant != "" && len(names) > fewNames {
		return strings.TrimPrefix(meant, " ")
	}
	return fmt.Sprintf("(want one of %s)", strings.Join(names, ", "))
}

// DidYouMean ends the error of a word that is none of names, which are too many to list: " (did you mean pool?)", or ""
// where no name is near.
func DidYouMean(word string, names []string) string {
	near := Near(word, names)
	if len(near) == 0 {
		return ""
	}
	return fmt.Sprintf(" (did you mean %s?)", strings.Join(near, " or "))
}

// Limits of Near: the number of names, and the edits between one of them and the word.
const mostNear, mostEdits = 3, 3

// Near returns the names that the user may have meant by word, in their order: the ones with the fewest edits from word, at
// most one edit for every three letters. If there is none, it returns the names that begin with word.
func Near(word string, names []string) []string {
	typed := []rune(strings.ToLower(word))
	fewest := min(len(typed)/3, mostEdits)
	if fewest == 0 {
		return nil
	}
	var near, longer []string
	for _, name := range names {
		lower := strings.ToLower(name)
		switch n := edits(typed, []rune(lower)); {
		case n < fewest:
			fewest, near = n, []string{name}
		case n == fewest:
			near = append(near, name)
		case strings.HasPrefix(lower, string(typed)):
			longer = append(longer, name)
		}
	}
	if near == nil {
		near = longer
	}
	return near[:min(len(near), mostNear)]
}

// edits returns how many letters must be added, dropped or changed to turn a into b; two neighbours that change places count as
// one (the optimal string alignment distance). If the lengths differ by more than mostEdits, it returns only that difference,
// the least that it can be.
func edits(a, b []rune) int {
	if d := len(a) - len(b); max(d, -d) > mostEdits {
		return max(d, -d) // so that a very long word takes no time
	}
	// d[i][j] is the distance of the first i letters of a and the first j of b.
	d := make([][]int, len(a)+1)
	for i := range d {
		d[i] = make([]int, len(b)+1)
		for j := range d[i] {
			switch {
			case i == 0 || j == 0:
				d[i][j] = i + j
				continue
			case a[i-1] == b[j-1]:
				d[i][j] = d[i-1][j-1]
				continue
			}
			d[i][j] = 1 + min(d[i-1][j], d[i][j-1], d[i-1][j-1])
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				d[i][j] = min(d[i][j], d[i-2][j-2]+1)
			}
		}
	}
	return d[len(a)][len(b)]
}
