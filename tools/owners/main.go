// Owners counts, for each capability, the packages outside its own that name its types or codes, and the exported names of
// package record. Tests are not counted.
//
// Usage, from tools/: go run ./owners [ROOT]
package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// A capability has its packages, below internal/capabilities or internal/measuring.
type capability struct {
	name     string
	packages []string
}

var capabilities = []capability{
	{"attack", []string{"attack"}},
	{"audit", []string{"audit", "audit/tools"}},
	{"capacity", []string{"capacity"}},
	{"cluster", []string{"cluster"}},
	{"doctor", []string{"doctor"}},
	{"explain", []string{"explain"}},
	{"profiles", []string{"profiling", "profile"}},
	{"race", []string{"race"}},
	{"size", []string{"size"}},
	{"ui", []string{"ui"}},
}

// A file is a parsed file, and its package's directory below the root.
type file struct {
	dir string
	ast *ast.File
}

func main() {
	root := ".."
	if len(os.Args) > 1 {
		root = os.Args[1]
	}
	files, err := parsed(root)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Printf("%-10s %-8s %s\n", "capability", "outside", "packages outside its own that name it")
	for _, c := range capabilities {
		all := outside(c, files)
		fmt.Printf("%-10s %-8d %s\n", c.name, len(all), strings.Join(all, " "))
	}
	fmt.Printf("\nrecord exports %d names at the top level, methods and fields not counted\n", exported(files, "internal/shared/record"))
}

// parsed returns the files below cmd and internal, without tests.
func parsed(root string) (files []file, err error) {
	set := token.NewFileSet()
	for _, top := range []string{"cmd", "internal"} {
		err = filepath.WalkDir(filepath.Join(root, top), func(name string, e fs.DirEntry, err error) error {
			if err != nil || e.IsDir() || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
				return err
			}
			f, err := parser.ParseFile(set, name, nil, 0)
			if err != nil {
				return err
			}
			dir, err := filepath.Rel(root, filepath.Dir(name))
			files = append(files, file{filepath.ToSlash(dir), f})
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	return files, nil
}

// outside returns the packages that name a capability without belonging to it, in order.
func outside(c capability, files []file) (all []string) {
	for _, f := range files {
		below := room(f.dir)
		if !slices.Contains(c.packages, below) && !slices.Contains(all, below) && names(c, f) {
			all = append(all, below)
		}
	}
	slices.Sort(all)
	return all
}

// room returns a package's path without internal/ and the folder below it, such as internal/shared.
func room(dir string) string {
	if below, ok := strings.CutPrefix(dir, "internal/"); ok {
		_, dir, _ = strings.Cut(below, "/")
	}
	return dir
}

// names reports whether a file uses a name of one of the capability's packages. A blank import does not.
func names(c capability, f file) (found bool) {
	imports := map[string]string{} // by name in the file, the path below its folder of internal/
	for _, i := range f.ast.Imports {
		_, below, ours := strings.Cut(strings.Trim(i.Path.Value, `"`), "/internal/")
		if !ours {
			continue
		}
		at := room("internal/" + below)
		name := path.Base(at)
		if i.Name != nil {
			name = i.Name.Name
		}
		imports[name] = at
	}
	ast.Inspect(f.ast, func(n ast.Node) bool {
		if s, ok := n.(*ast.SelectorExpr); ok {
			x, ok := s.X.(*ast.Ident)
			found = found || ok && slices.Contains(c.packages, imports[x.Name])
		}
		return !found
	})
	return found
}

// exported counts the exported types, functions, constants and variables of a package.
func exported(files []file, dir string) (n int) {
	count := func(id *ast.Ident) {
		if id.IsExported() {
			n++
		}
	}
	for _, f := range files {
		if f.dir != dir {
			continue
		}
		for _, d := range f.ast.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				if d.Recv == nil {
					count(d.Name)
				}
			case *ast.GenDecl:
				for _, s := range d.Specs {
					switch s := s.(type) {
					case *ast.TypeSpec:
						count(s.Name)
					case *ast.ValueSpec:
						for _, id := range s.Names {
							count(id)
						}
					}
				}
			}
		}
	}
	return n
}
