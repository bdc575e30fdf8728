// Package cmdline is the command line of a server: its words, the variables before them, and
// the marks in them that become true when it starts.
package cmdline

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

	shellquote "github.com/kballard/go-shellquote"
)

// Marks in a command, its variables and its metrics' address, which become true when a trial starts.
const (
	AddrMark  = "{addr}"  // host:port to listen on
	HostMark  = "{host}"  // its first part
	PortMark  = "{port}"  // its second
	AdminMark = "{admin}" // another host:port, for metrics
	DirMark   = "{dir}"   // an empty directory, removed afterwards
)

// LimitKey is the name of the word before a command that limits the CPU time of its server, in CPUs: limit=0.5.
const LimitKey = "limit"

// ImageMark begins a command that is the image of a container, for a cluster: image:REGISTRY/NAME.
const ImageMark = "image:"

// Split splits a command line into words as a shell does, with its quotes and backslashes, and expands nothing.
// It returns an error for an unfinished quote, and for a line without words.
//
// Note: go-shellquote has had no release since 2018, but is complete and does only this. mvdan.cc/sh/v3/syntax reads a whole shell's
// language, in which ; & | ( and $ are more than letters, and makes the binary 0.26 MB larger; google/shlex is not kept either.
func Split(s string) ([]string, error) {
	words, err := shellquote.Split(s)
	switch {
	case err != nil:
		return nil, fmt.Errorf("unfinished quote in %q", s)
	case len(words) == 0:
		return nil, errors.New("empty command")
	}
	return words, nil
}

// Join writes argv as a line for a shell.
// Split undoes it. Assignments before the command stay assignments: only their values are quoted.
func Join(argv []string) string {
	variables, _ := Variables(argv)
	words := make([]string, len(argv))
	for i, w := range argv {
		name := ""
		if i < len(variables) { // an assignment's name stays outside the quotes
			name, w, _ = strings.Cut(w, "=")
			name += "="
		}
		if w != "" || name == "" {
			w = Quote(w)
		}
		words[i] = name + w
	}
	return strings.Join(words, " ")
}

// Quote makes a word of s for a shell. Marks stay readable, which a library would quote.
//
// Braces are not in the list, so that {addr} stays readable; a shell takes them for a list only with a
// comma or two dots.
func Quote(s string) string {
	list := strings.Contains(s, "{") && (strings.Contains(s, ",") || strings.Contains(s, ".."))
	if s != "" && !list && !strings.ContainsAny(s, " \t\n'\"\\$`|&;<>()*?[]#~!") {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

// assignment matches the beginning of a word like NAME=VALUE.
var assignment = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*=`)

// Variables parts the assignments that a command begins with, as in a shell,
// from the command.
func Variables(words []string) (variables, command []string) {
	n := 0
	for n < len(words) && assignment.MatchString(words[n]) {
		n++
	}
	return words[:n:n], words[n:]
}

// Limit parts the limit on a server's CPU time from the variables before its command. limit is "" if there is none.
func Limit(variables []string) (limit string, rest []string) {
	for _, v := range variables {
		if value, is := strings.CutPrefix(v, LimitKey+"="); is {
			limit = value
			continue
		}
		rest = append(rest, v)
	}
	return limit, rest
}

// MetricsAt is the URL of a server's own metrics: where is /path, :PORT/path on
// the same host, or a URL with marks.
// addr is the host:port at which the server listens, admin the other one that it was given. Of the marks
// only AddrMark, HostMark and AdminMark are replaced.
func MetricsAt(where, addr, admin string) string {
	host := addr[:max(0, strings.LastIndexByte(addr, ':'))]
	switch {
	case strings.HasPrefix(where, "/"):
		return "http://" + addr + where
	case strings.HasPrefix(where, ":"):
		return "http://" + host + where
	}
	return strings.NewReplacer(AddrMark, addr, HostMark, host, AdminMark, admin).Replace(where)
}
