package scenario

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// All is the argument that stands for every scenario of a library.
// Files of the user are not among them.
const All = "all"

// A Library holds scenarios in files NAME.yaml at its root. The program embeds one.
// Its zero value cannot be used. It is safe for concurrent use if its file system is.
type Library struct{ fs.FS }

// Names returns the names of the scenarios in alphabetical order.
func (l Library) Names() (names []string) {
	files, err := fs.Glob(l, "*.yaml")
	if err != nil {
		panic(err) // cannot happen: the pattern is valid
	}
	for _, f := range files {
		names = append(names, strings.TrimSuffix(f, ".yaml"))
	}
	return names
}

// Expand replaces All by every name of the library, and a directory by the scenario files in it. Other
// arguments stay.
//
// A name of the library goes before a directory of the same name. It returns an error for a directory
// without scenarios. Whether the other arguments exist shows in Find.
func (l Library) Expand(args []string) (names []string, err error) {
	for _, arg := range args {
		info, statErr := os.Stat(arg)
		switch {
		case slices.Contains(l.Names(), arg):
			names = append(names, arg)
		case arg == All:
			names = append(names, l.Names()...)
		case statErr == nil && info.IsDir():
			files, err := filepath.Glob(filepath.Join(arg, "*.yaml")) // sorted
			if err != nil {
				return nil, fmt.Errorf("reading directory %q: %w", arg, err)
			}
			if len(files) == 0 {
				return nil, fmt.Errorf("directory %q holds no scenario, no file *.yaml", arg)
			}
			names = append(names, files...)
		default:
			names = append(names, arg)
		}
	}
	return names, nil
}

// Find reads a scenario of the library by its name, or a file by its path. embedded reports whether the
// scenario is from the library.
//
// An argument with a dot or a slash is a path; without one, it can only be a name.
func (l Library) Find(arg string) (s Scenario, embedded bool, err error) {
	text, err := fs.ReadFile(l, arg+".yaml")
	if err == nil {
		s, err = Parse(arg, text)
		return s, true, err
	}
	if !strings.ContainsAny(arg, "./") {
		return s, false, fmt.Errorf("unknown scenario %q (embedded are %s; a file needs its path, like ./%s.yaml)", arg, strings.Join(l.Names(), ", "), arg)
	}
	if text, err = ReadFile(arg, MaxScenario); err != nil {
		// The path is already in the message.
		if path, ok := errors.AsType[*fs.PathError](err); ok {
			err = path.Err
		}
		return s, false, fmt.Errorf("reading scenario %q: %w", arg, err)
	}
	s, err = Parse(arg, text)
	return s, false, err
}

// ReadFile reads a file of at most most bytes. Of a larger file it reads one byte more, so that the
// caller can refuse it.
func ReadFile(name string, most int64) ([]byte, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, most+1))
}
