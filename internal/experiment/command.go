package experiment

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
)

// Marks in a command, its variables and its metrics' address, which become true
// when a trial starts.
const (
	addrMark  = "{addr}"  // host:port to listen on
	hostMark  = "{host}"  // its first part
	portMark  = "{port}"  // its second
	adminMark = "{admin}" // another host:port, for metrics
	dirMark   = "{dir}"   // an empty directory, removed afterwards
)

// SplitCommand splits a command line into words at blanks; single and double
// quotes keep blanks, and a backslash keeps the next character, except within
// single quotes.
func SplitCommand(s string) (words []string, err error) {
	var word strings.Builder
	var quote rune
	inWord, escaped := false, false
	for _, r := range s {
		switch {
		case escaped:
			word.WriteRune(r)
			escaped = false
		case r == '\\' && quote != '\'':
			escaped, inWord = true, true
		case quote != 0 && r == quote:
			quote = 0
		case quote != 0:
			word.WriteRune(r)
		case r == '\'' || r == '"':
			quote, inWord = r, true
		case r == ' ' || r == '\t' || r == '\n':
			if inWord {
				words = append(words, word.String())
				word.Reset()
				inWord = false
			}
		default:
			word.WriteRune(r)
			inWord = true
		}
	}
	if quote != 0 || escaped {
		return nil, fmt.Errorf("unfinished quote in %q", s)
	}
	if inWord {
		words = append(words, word.String())
	}
	if len(words) == 0 {
		return nil, errors.New("empty command")
	}
	return words, nil
}

// JoinCommand writes argv as a line for a shell.
func JoinCommand(argv []string) string {
	variables, _ := splitVariables(argv)
	words := make([]string, len(argv))
	for i, w := range argv {
		name := ""
		if i < len(variables) { // an assignment's name stays outside the quotes
			name, w, _ = strings.Cut(w, "=")
			name += "="
		}
		if w == "" && name == "" || strings.ContainsAny(w, " \t\n'\"\\$`|&;<>()*?[]#~!") {
			w = "'" + strings.ReplaceAll(w, "'", `'\''`) + "'"
		}
		words[i] = name + w
	}
	return strings.Join(words, " ")
}

var assignment = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*=`)

// splitVariables parts the assignments that a command begins with, as in a shell,
// from the command.
func splitVariables(words []string) (variables, command []string) {
	n := 0
	for n < len(words) && assignment.MatchString(words[n]) {
		n++
	}
	return words[:n:n], words[n:]
}

// metricsAt is the URL of a server's own metrics: where is /path, :PORT/path on
// the same host, or a URL with marks.
func metricsAt(where, addr, admin string) string {
	host := addr[:max(0, strings.LastIndexByte(addr, ':'))]
	switch {
	case strings.HasPrefix(where, "/"):
		return "http://" + addr + where
	case strings.HasPrefix(where, ":"):
		return "http://" + host + where
	}
	return strings.NewReplacer(addrMark, addr, hostMark, host, adminMark, admin).Replace(where)
}
