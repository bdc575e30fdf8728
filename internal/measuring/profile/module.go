package profile

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"io"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/google/pprof/profile"
)

// Executable returns the path of the program that wrote a profile in pprof's format; "" if the profile does not have it.
func Executable(data []byte) string {
	p, err := profile.ParseData(data)
	if err != nil || len(p.Mapping) == 0 {
		return ""
	}
	return p.Mapping[0].File
}

// OwnModules returns the paths of a Go program's own modules, from the build information that Go's linker wrote into its file: the
// main one, and those that come from a folder, by a replace or a workspace. It is nil where there is none. The form is the
// one that debug/buildinfo describes, with strings in line (Go 1.18 and later).
// debug/buildinfo reads it, too, and makes this program 0.6 MB larger, as it reads the tables of sections of five
// kinds of executables. The information begins at a multiple of 16 bytes, so here it is looked for at each.
func OwnModules(file io.ReaderAt) (paths []string) {
	const align, size, inline = 16, 32, 2
	magic := []byte("\xff Go buildinf:")
	chunk := make([]byte, 1<<20)
	for at := int64(0); ; at += int64(len(chunk)) {
		n, err := file.ReadAt(chunk, at)
		if err != nil && !errors.Is(err, io.EOF) || n == 0 {
			return nil
		}
		for i := 0; i+align <= n; i += align {
			if !bytes.HasPrefix(chunk[i:], magic) || chunk[i+align-1]&inline == 0 {
				continue
			}
			r := bufio.NewReader(io.NewSectionReader(file, at+int64(i)+size, 1<<20))
			_ = lengthThenText(r) // Go's version
			text := lengthThenText(r)
			if len(text) < 2*align { // it stands between two marks
				continue
			}
			if built, err := debug.ParseBuildInfo(text[align : len(text)-align]); err == nil && built.Main.Path != "" {
				paths = append(paths, built.Main.Path)
				for _, d := range built.Deps {
					if cmp.Or(d.Replace, d).Version == "(devel)" { // else it was downloaded
						paths = append(paths, d.Path)
					}
				}
				return paths
			}
		}
	}
}

// lengthThenText reads a text with its length in front; "" if there is none.
func lengthThenText(r *bufio.Reader) string {
	n, err := binary.ReadUvarint(r)
	if err != nil || n > 1<<20 {
		return ""
	}
	text := make([]byte, n)
	if _, err := io.ReadFull(r, text); err != nil {
		return ""
	}
	return string(text)
}

// inModule reports whether f belongs to one of the program's own modules. Without their paths it is every function
// that is neither of the standard library, in a package path without a domain, nor of a module that was downloaded or
// vendored, which the name of its source file shows.
func inModule(f *profile.Function, modules []string) bool {
	plain, _, _ := strings.Cut(f.Name, "[") // after [ come type arguments, which have paths too
	last := strings.LastIndexByte(plain, '/') + 1
	dot := strings.IndexByte(plain[last:], '.')
	if dot < 0 {
		return false
	}
	// The linker escapes dots in a path's last element.
	path := strings.ReplaceAll(plain[:last+dot], "%2e", ".")
	switch {
	case path == "main":
		return true
	case len(modules) > 0:
		return slices.ContainsFunc(modules, func(module string) bool { return path == module || strings.HasPrefix(path, module+"/") })
	}
	domain, _, _ := strings.Cut(path, "/")
	return strings.Contains(domain, ".") && !strings.Contains(f.Filename, "@v") && !strings.Contains(f.Filename, "/vendor/")
}

// counts are the numbers of samples of a CPU profile.
type counts struct {
	all   int
	self  map[string]int // in each function, without its callees
	with  map[string]int // in each function of the program's module, with its callees
	depth map[string]int // how many functions of the module call such a function, one in another, at most
	// calls has the samples in each function outside the module, by the nearest caller in the module.
	calls map[string]map[string]int
}

// counted counts the samples of a tree.
func (t *Tree) counted() counts {
	c := counts{all: int(t.Samples), self: map[string]int{}, with: map[string]int{}, depth: map[string]int{}, calls: map[string]map[string]int{}}
	var walk func(at *Tree, callers []string) // in the module, the outermost first
	walk = func(at *Tree, callers []string) {
		self := int(at.Samples)
		for _, callee := range at.children {
			self -= int(callee.Samples)
		}
		if at.own {
			if !slices.Contains(callers, at.name) { // recursion counts once
				c.with[at.name] += int(at.Samples)
				c.depth[at.name] = max(c.depth[at.name], len(callers))
			}
			callers = append(slices.Clip(callers), at.name)
		}
		if self > 0 {
			c.self[at.name] += self
			if !at.own && len(callers) > 0 {
				by := c.calls[at.name]
				if by == nil {
					by = map[string]int{}
					c.calls[at.name] = by
				}
				by[callers[len(callers)-1]] += self
			}
		}
		for _, callee := range at.children {
			walk(callee, callers)
		}
	}
	walk(t, nil)
	return c
}

// caller returns the function of the program's module through which at least half of the change of name's share came; nil
// if there is none, or name is of the module itself.
func caller(name string, from, to counts) (found *CallerShare) {
	change := ratio(to.self[name], to.all) - ratio(from.self[name], from.all)
	most := .5 // of the change
	for _, by := range []map[string]int{from.calls[name], to.calls[name]} {
		for f := range by {
			part := (ratio(to.calls[name][f], to.all) - ratio(from.calls[name][f], from.all)) / change
			if part > most || part == most && (found == nil || f < found.Function) {
				most, found = part, &CallerShare{f, ratio(from.with[f], from.all), ratio(to.with[f], to.all)}
			}
		}
	}
	return found
}

func ratio(n, all int) float64 { return float64(n) / float64(all) }
