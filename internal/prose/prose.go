// Package prose writes small parts of sentences.
package prose

import (
	"fmt"
	"strings"
)

// Plural writes n and the word, with an s unless n is 1.
func Plural(n int, word string) string {
	if n == 1 {
		return "1 " + word
	}
	return fmt.Sprintf("%d %ss", n, word)
}

// FirstLine is what of another program's text goes into a sentence.
func FirstLine(text string) string {
	first, _, _ := strings.Cut(text, "\n")
	return strings.TrimSpace(first)
}
