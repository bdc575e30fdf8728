package audit

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// This file removes what editors, terminals, mail and logs put around a tool's output: encodings,
// byte order marks, colours, redrawn lines, and what stands before each line. So the tables know
// each line only as its tool prints it. No step adds or removes a line, so line numbers stay those
// of the file.

// decode returns a text as UTF-8. It reads UTF-16 of either byte order with or without a byte
// order mark, and takes bytes that are no UTF-8 for Latin-1, where µ is one byte.
func decode(b []byte) string {
	if order := utf16Order(b); order != nil {
		units := make([]uint16, len(b)/2)
		for i := range units {
			units[i] = order.Uint16(b[2*i:])
		}
		return string(utf16.Decode(units))
	}
	if utf8.Valid(b) {
		return string(b)
	}
	var out strings.Builder
	for len(b) > 0 {
		r, n := utf8.DecodeRune(b)
		if r == utf8.RuneError && n == 1 {
			r = rune(b[0])
		}
		out.WriteRune(r)
		b = b[n:]
	}
	return out.String()
}

// utf16Order returns the byte order of a text in UTF-16, nil for another encoding. Tools print
// mostly ASCII, so without a mark the zero bytes of the first characters tell.
func utf16Order(b []byte) binary.ByteOrder {
	first := b[:min(len(b), 64)&^1]
	even, odd := 0, 0
	for i := 0; i < len(first); i += 2 {
		if first[i] == 0 {
			even++
		}
		if first[i+1] == 0 {
			odd++
		}
	}
	switch half := len(first) / 4; {
	case len(first) == 0:
		return nil
	case first[0] == 0xff && first[1] == 0xfe, odd > half && even == 0:
		return binary.LittleEndian
	case first[0] == 0xfe && first[1] == 0xff, even > half && odd == 0:
		return binary.BigEndian
	}
	return nil
}

var (
	// escape matches a command to a terminal: a colour, a movement of the cursor, a title. Logs
	// also write the escape character as ^[, \x1b, \u001b, \033 or \e.
	escape = regexp.MustCompile(`(?:\x1b|\^\[|␛|\\(?:x1[bB]|u001[bB]|033|e))(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[()][0-9A-B])|\x{9b}[0-?]*[ -/]*[@-~]|\x1b[=>78MDEHc]`)
	// colour matches a colour that has lost its escape character, as when it was copied from a web
	// page. reset ends each of them, so a line without reset has no colour.
	colour = regexp.MustCompile(`\[\d{1,3}(?:;\d{1,3})*m`)
	reset  = "[0m"
	// invisible characters are dropped, and wide or unbreakable spaces become plain ones.
	invisible = strings.NewReplacer("\ufeff", "", "\u200b", "", "\u2060", "", "\x00", "", "\u00a0", " ", "\u2007", " ", "\u2009", " ", "\u202f", " ",
		// A few signs as they look where UTF-8 was read as the encoding of a Windows terminal.
		"Âµ", "µ", "┬╡", "µ", "â–ˆ", "█", "Γûê", "█", "âœ“", "✓", "Γ£ô", "✓", "âœ—", "✗", "Γ£ù", "✗", "\ufffds", "µs")
)

// plain returns a line without terminal commands, invisible characters and spaces at its end. A
// carriage return begins the line again, as on a terminal, so the last text that is not blank counts.
func plain(l string) string {
	l = escape.ReplaceAllString(l, "")
	if strings.Contains(l, reset) {
		l = colour.ReplaceAllString(l, "")
	}
	l = strings.TrimRight(invisible.Replace(l), " \t\r")
	return l[strings.LastIndexByte(l, '\r')+1:]
}

// linesOf returns the lines of a text, each without colours, control characters and other wrapping.
func linesOf(b []byte) []string {
	text := strings.ReplaceAll(decode(b), "\r\n", "\n")
	if !strings.Contains(text, "\n") { // as old systems end lines
		text = strings.ReplaceAll(text, "\r", "\n")
	}
	lines := strings.Split(text, "\n")
	for i, l := range lines {
		var docker struct{ Log string }
		if strings.HasPrefix(l, `{"log":"`) && json.Unmarshal([]byte(l), &docker) == nil { // a log of a container
			l = docker.Log
		}
		lines[i] = plain(strings.ReplaceAll(strings.TrimRight(l, "\n"), "\n", " "))
	}
	unwrap(lines)
	return lines
}

// unwrap drops the prefix of each line: a quote's >, a time of a log, the name of a container, the
// bullet or the number of a list. What stands before the first line of a run is such a prefix. If
// most lines around it begin in the same way, they all lose it, and so do the lines right before it
// that belong to the log as well.
func unwrap(lines []string) {
	const around = 12 // lines before and behind that are looked at to tell a prefix from a bullet
	var prefix *regexp.Regexp
	for i, l := range lines {
		if prefix != nil {
			if at := prefix.FindString(l); at != "" {
				lines[i] = l[len(at):]
				continue
			}
		}
		n := prefixLength(l)
		if n == 0 {
			continue
		}
		found, alike, others := shapeOf(l[:n]), 0, 0
		for k := max(0, i-around); k < len(lines) && k <= i+around; k++ {
			switch {
			case k == i:
			case found.MatchString(lines[k]):
				alike++
			case strings.TrimSpace(lines[k]) != "":
				others++
			}
		}
		lines[i] = l[n:]
		// Other programs may write between the lines, which a long prefix with words tells apart.
		if alike <= others && (alike < 3 || n < 4 || !letters.MatchString(l[:n])) {
			continue
		}
		prefix = found
		for k := i - 1; k >= 0 && found.MatchString(lines[k]); k-- {
			lines[k] = lines[k][len(found.FindString(lines[k])):]
		}
	}
}

var (
	// jsonBehind and pairsBehind match a line with a prefix before its JSON object or its pairs. The
	// prefix must end in a sign or a digit, so that a sentence does not match, and must have no
	// quotation mark, since a key of JSON has one.
	jsonBehind  = regexp.MustCompile(`^([^"{]*?(?:[^\w\s,"{][^"{]*?|\d\s+))\{(?:\s*"|\s*$)`)
	pairsBehind = regexp.MustCompile(`^(\s*[^\s"'=<][^"'=<]*?)[A-Za-z][\w.]*\s*=`)
	behindSign  = regexp.MustCompile(`[^\w\s,.=]\s*$|\d\s+$|\dZ\s*$`)
	letters     = regexp.MustCompile(`[A-Za-z]`)
	digitRuns   = regexp.MustCompile(`\d+`)
)

// prefixLength returns the length of what stands before the first line of a run, 0 for a line that
// begins none or has nothing before it.
func prefixLength(l string) int {
	body := strings.TrimLeft(l, " \t")
	if body == "" || body[0] == '{' || body[0] == '|' {
		return 0
	}
	for _, p := range tools().starts {
		if p.match(l) != nil {
			return 0
		}
	}
	for _, p := range tools().starts {
		if p.inside != nil && strings.Contains(l, p.word) {
			if m := p.inside.FindStringSubmatch(l); m != nil {
				return len(m[1])
			}
		}
	}
	n := prefixOfFigures(l)
	if n > 0 && slices.ContainsFunc(tools().layouts, func(of *layout) bool { p, _ := of.find(l); return p != nil }) {
		return 0
	}
	return n
}

// prefixOfFigures is prefixLength for JSON, tables and pairs.
func prefixOfFigures(l string) int {
	if m := jsonBehind.FindStringSubmatch(l); m != nil && behindSign.MatchString(m[1]) {
		return len(m[1])
	}
	if at := strings.IndexByte(l, '|'); at > 0 && figuresNamed(cells(l[at:])) >= 2 {
		return at
	}
	if pairsOf(l) == nil {
		if m := pairsBehind.FindStringSubmatch(l); m != nil && behindSign.MatchString(m[1]) {
			if pairs := pairsOf(l[len(m[1]):]); pairs != nil && isKey(pairs[0][1]) {
				return len(m[1])
			}
		}
	}
	return 0
}

// shapeOf returns a pattern of prefixes like this one: numbers in it may differ, and so may the
// spaces, because blank lines of a log lose those at their ends.
func shapeOf(prefix string) *regexp.Regexp {
	body := strings.TrimRight(prefix, " \t")
	shape := `^`
	if body != strings.TrimLeft(body, " \t") {
		shape += `[ \t]*`
	}
	words := strings.Fields(body)
	for i, word := range words {
		words[i] = digitRuns.ReplaceAllString(regexp.QuoteMeta(word), `\d+`)
	}
	shape += strings.Join(words, `[ \t]+`)
	if rest := len(prefix) - len(body); rest > 0 {
		shape += fmt.Sprintf(`(?:[ \t]{1,%d}|$)`, rest)
	}
	return regexp.MustCompile(shape)
}
