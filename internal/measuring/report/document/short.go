package document

import (
	"strings"
	"unicode"
)

// ShortWords is the largest number of words of an answer that is read at a glance.
const ShortWords = 12

// Words counts the words of a sentence: all between two spaces is one word, if it has a letter or a digit. An nbsp is a space here.
func Words(s string) (n int) {
	for word := range strings.FieldsSeq(s) {
		if strings.ContainsFunc(word, func(c rune) bool { return unicode.IsLetter(c) || unicode.IsDigit(c) }) {
			n++
		}
	}
	return n
}

// Where Split may cut a sentence: at the end of a clause only, or at a comma or a parenthesis as well.
const (
	BetweenClauses = ":;."
	Anywhere       = ":;.,("
)

// Split cuts an answer behind the last clause with which it has at most ShortWords words, and returns what follows as a line.
// An answer that cannot be cut so is returned whole, if cuts are BetweenClauses; else its first words are returned, and all
// of it as the line.
func Split(answer, cuts string) (short string, rest []string) {
	whole := strings.TrimSuffix(answer, ".")
	if Words(whole) <= ShortWords {
		return answer, nil
	}
	at, depth := 0, 0
	for i, c := range whole {
		if c == ')' {
			depth--
		}
		// A cut is before a space, or before the parenthesis that follows one.
		cut := strings.ContainsRune(cuts, c) && c != '(' && strings.HasPrefix(whole[i+len(string(c)):], " ") || c == '(' && strings.ContainsRune(cuts, c) && i > 0 && whole[i-1] == ' '
		if cut && depth == 0 {
			if Words(whole[:i]) > ShortWords {
				break
			}
			at = i
		}
		if c == '(' {
			depth++
		}
	}
	if at == 0 {
		if cuts == BetweenClauses {
			return answer, nil
		}
		words := strings.Fields(whole)
		return strings.Join(words[:ShortWords], " ") + " …", []string{whole}
	}
	short = strings.TrimRight(whole[:at], " ") + "."
	left := strings.TrimLeft(whole[at:], ":;., ")
	if left[0] == '(' { // what stood in parentheses begins the line
		left = strings.Replace(left[1:], ")", "", 1)
	}
	return short, []string{left}
}
