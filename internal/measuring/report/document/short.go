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
	Anywhere       = ":;.,"
)

// Split cuts an answer after its last clause that ends within ShortWords words, and returns what follows as a line. An answer
// without such a clause is returned whole, if cuts is BetweenClauses. Otherwise its first words are returned, with the whole
// answer as the line.
func Split(answer, cuts string) (short string, rest []string) {
	whole := strings.TrimSuffix(answer, ".")
	if Words(whole) <= ShortWords {
		return answer, nil
	}
	at, depth := 0, 0
	for i := 0; i < len(whole)-1 && Words(whole[:i]) <= ShortWords; i++ {
		isEnd := strings.IndexByte(cuts, whole[i]) >= 0 && whole[i+1] == ' '
		if depth == 0 && (isEnd || cuts == Anywhere && endsClause(whole[i:])) {
			at = i
		}
		switch whole[i] {
		case '(':
			depth++
		case ')':
			depth--
		}
	}
	if at == 0 {
		if cuts == BetweenClauses {
			return answer, nil
		}
		words := strings.Fields(whole)
		return strings.Join(words[:ShortWords], " ") + " …", []string{whole}
	}
	short = whole[:at] + "."
	left := strings.TrimLeft(whole[at:], ":;., ")
	if left[0] == '(' { // what stood in parentheses begins the line
		left = strings.Replace(left[1:], ")", "", 1)
	}
	return short, []string{left}
}

// endsClause reports whether s begins with words in parentheses that end a clause, with a space in front.
func endsClause(s string) bool {
	if !strings.HasPrefix(s, " (") {
		return false
	}
	end := strings.IndexByte(s, ')')
	return end == len(s)-1 || end > 0 && strings.IndexByte(Anywhere, s[end+1]) >= 0
}
