package scenario

import (
	"bytes"
	"encoding"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"schedlab/internal/shared/prose"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/lexer"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"
)

// maxScenario is the largest size of a scenario file, in bytes.
const maxScenario = 1 << 20

// maxTokens limits the time and depth of parsing, which grow with the square of the tokens.
const maxTokens = 10_000

// A place is a position in a file. Line and column count from 1.
type place struct{ line, column int }

// A FieldError is the error for an impossible value. Path names the value, like load.rate or arms[2]; Msg tells
// what the fault is. It has no position: decoder.fault adds the place of the value.
type FieldError struct {
	Path, Msg string
	within    string // the text of the value, if the fault is at one of its characters
	at        int    // offset of that character
}

func fieldErrorf(path, format string, args ...any) *FieldError {
	return &FieldError{Path: path, Msg: fmt.Errorf(format, args...).Error()}
}

// A decoder fills structs from YAML and remembers the position of each value. It accepts text, whole numbers,
// booleans, lists and mappings. It refuses the rest of YAML: anchors, tags, merges, several documents.
//
// Note: the library's decoder gives no position for errors in types with UnmarshalText (rates,
// durations, demands), and most mistakes are there.
//
// value is the centre: it reads any node into a Go value by reflection. Structs go to fields, lists to
// value again, and everything else to text and setText. Arm and Varied decode themselves.
type decoder struct {
	at     map[string]place // position by path
	source string           // the file's text
}

// decode reads one document into v. It returns the decoder for errors that are found later, with the places of
// all values. Errors begin with line:column.
func decode(text []byte, v any) (*decoder, error) {
	body, err := document(text, "a scenario")
	if err != nil {
		return nil, err
	}
	if body == nil {
		return nil, place{1, 1}.errorf("the file is empty; 'schedlab scenarios quick' prints one to start from")
	}
	d := &decoder{at: map[string]place{"": {1, 1}}, source: string(text)}
	// The root has the empty path.
	return d, d.value("", body, reflect.ValueOf(v).Elem())
}

// A Setting is a key of a file of settings, with its values as they are written.
type Setting struct {
	Key    string
	Values []string
	List   bool // whether the values are written as a list
	Line   int  // of the key, from 1
	Column int  // of the key, from 1
}

// ParseSettings reads a file of 'key: value' or 'key: [values]' on each line, in the order of the file. A
// file without settings has none. Errors begin with line:column.
func ParseSettings(text []byte) (all []Setting, err error) {
	body, err := document(text, "a list of flags")
	if err != nil || body == nil {
		return nil, err
	}
	m, ok := body.(ast.MapNode)
	if !ok {
		return nil, start(body).errorf("not a list of flags")
	}
	d := decoder{at: map[string]place{}}
	for pair := m.MapRange(); pair.Next(); {
		key := pair.Key().GetToken()
		s := Setting{Key: key.Value, Line: key.Position.Line, Column: key.Position.Column}
		values := []ast.Node{pair.Value()}
		if list, ok := pair.Value().(*ast.SequenceNode); ok {
			s.List, values = true, list.Values
		}
		for _, value := range values {
			d.at[s.Key] = start(value)
			text, err := d.text(s.Key, value)
			if err != nil {
				return nil, err
			}
			s.Values = append(s.Values, text)
		}
		all = append(all, s)
	}
	return all, nil
}

// document returns the only document of a YAML file, nil if the file has only comments. what names the
// wanted kind of file in messages.
func document(text []byte, what string) (body ast.Node, err error) {
	if err := checkText(text, what); err != nil {
		return nil, err
	}
	tokens := lexer.Tokenize(string(text))
	if len(tokens) > maxTokens {
		return nil, place{1, 1}.errorf("more than %d words and marks: not %s", maxTokens, what)
	}
	file, err := parser.Parse(tokens, 0)
	if err != nil {
		return nil, syntax(text, err)
	}
	// Comments and directives alone are no document.
	for _, doc := range file.Docs {
		switch {
		case doc.Body == nil || doc.Body.Type() == ast.CommentType || doc.Body.Type() == ast.DirectiveType:
		case body != nil:
			return nil, start(doc.Body).errorf("a second document begins here; a file holds one")
		default:
			body = doc.Body
		}
	}
	return body, nil
}

// checkText returns an error if text is too large, is not UTF-8, or has control characters, which
// could drive a terminal when they are printed.
func checkText(text []byte, what string) error {
	if len(text) > maxScenario {
		return place{1, 1}.errorf("larger than %d bytes: not %s", maxScenario, what)
	}
	at := place{1, 1}
	for rest := text; len(rest) > 0; {
		r, size := utf8.DecodeRune(rest)
		switch {
		case r == '\ufeff':
			return at.errorf("a byte order mark; save the file as UTF-8 without one")
		case r == utf8.RuneError && size == 1:
			return at.errorf("byte 0x%02x is not UTF-8; save the file as UTF-8", rest[0])
		case isControl(r):
			return at.errorf("control character %U; remove it, or save the file as UTF-8", r)
		case r == '\n':
			// The count below makes the next line's first column 1.
			at = place{at.line + 1, 0}
		}
		at.column++
		rest = rest[size:]
	}
	return nil
}

// isControl reports whether r could drive a terminal. Tabs and line ends are allowed.
func isControl(r rune) bool { return unicode.IsControl(r) && !strings.ContainsRune("\t\r\n", r) }

// checkValue returns an error if a value has control characters, also if it spells them with an
// escape, like "\e[31m".
func checkValue(text string) error {
	if i := strings.IndexFunc(text, isControl); i >= 0 {
		return fmt.Errorf("%q has the control character %U; leave it out", text, []rune(text[i:])[0])
	}
	return nil
}

// maxTried is in how many lines syntax looks for a mistake.
const maxTried = 200

// syntax rewrites the parser's error about text as line:column: reason, on one line. The line is the first with
// which the text no longer parses: the one that the parser names is often the line before or after.
func syntax(text []byte, err error) error {
	lines := bytes.SplitAfter(text, []byte("\n"))
	blamed := 0
	// Take lines off the end until the rest parses: the last line taken off is to blame.
	for i := min(len(lines), maxTried); i > 0; i-- {
		_, bad := parser.ParseBytes(bytes.Join(lines[:i], nil), 0)
		if bad == nil {
			break
		}
		blamed, err = i, bad
	}
	at, msg := place{max(blamed, 1), 1}, err.Error()
	if bad, ok := errors.AsType[yaml.Error](err); ok && bad.GetToken() != nil {
		msg = bad.GetMessage()
		// The column is known if the parser names the same line. A mistake beyond the lines tried is where
		// the parser says.
		if named := placeOf(bad.GetToken()); blamed == 0 || named.line == blamed {
			at = named
		}
	}
	// The parser's own words for a tab are hard to understand.
	if msg = prose.FirstLine(msg); strings.Contains(msg, "\t") {
		msg = "a tab where YAML wants blanks; indent with spaces"
	}
	return at.errorf("%s", msg)
}

func placeOf(t *token.Token) place { return place{t.Position.Line, t.Position.Column} }

// start returns the position at which a node's text begins. For a block mapping, that is its first key.
func start(n ast.Node) place {
	if m, ok := n.(*ast.MappingNode); ok && !m.IsFlowStyle && len(m.Values) > 0 {
		return placeOf(m.Values[0].Key.GetToken())
	}
	if m, ok := n.(*ast.MappingValueNode); ok {
		return placeOf(m.Key.GetToken())
	}
	return placeOf(n.GetToken())
}

// errorf returns an error of the form line:column: message. It wraps an error given with %w.
func (p place) errorf(format string, args ...any) error {
	return fmt.Errorf("%d:%d: %w", p.line, p.column, fmt.Errorf(format, args...))
}

// errorf returns an error about the value at path, with its position.
// Without a path it is about the whole file.
func (d *decoder) errorf(path, format string, args ...any) error {
	if path != "" {
		format = "%s: " + format
		args = append([]any{path}, args...)
	}
	return d.place(path).errorf(format, args...)
}

// fault is errorf for an impossible value. If the value is on one line of the file and the fault is at
// one of its characters, the error has the column of that character.
func (d *decoder) fault(bad *FieldError) error {
	at := d.place(bad.Path)
	// A value that spans lines, or is written with escapes, is not found in the source; then the error is
	// at the value's beginning.
	lines := strings.Split(d.source, "\n")
	if bad.within != "" && at.line <= len(lines) {
		if before, _, found := strings.Cut(lines[at.line-1], bad.within); found {
			at.column = utf8.RuneCountInString(before) + 1 + bad.at
		}
	}
	return at.errorf("%s: %s", bad.Path, bad.Msg)
}

// place returns the position of path, or of the nearest enclosing value that has one.
func (d *decoder) place(path string) place {
	for {
		if at, ok := d.at[path]; ok {
			return at
		}
		// load.rate[1] becomes load.rate, then load, then the root, which always has a place.
		path = path[:max(0, strings.LastIndexAny(path, ".["))]
	}
}

// value decodes n into v, which must be settable.
func (d *decoder) value(path string, n ast.Node, v reflect.Value) error {
	d.at[path] = start(n)
	if a, ok := reflect.TypeAssert[*Arm](v.Addr()); ok {
		return d.arm(path, n, a)
	}
	if all, ok := reflect.TypeAssert[*varied](v.Addr()); ok {
		return d.varied(path, n, clientKeys, all)
	}
	// A type that parses its own text is read as text, even if it is a struct.
	_, leaf := reflect.TypeAssert[encoding.TextUnmarshaler](v.Addr())
	switch {
	case leaf:
	case v.Kind() == reflect.Struct:
		return d.fields(path, n, keysOf(v.Type()), func(key, path string, n ast.Node) error {
			return d.value(path, n, v.FieldByIndex(fieldOf(v.Type(), key)))
		})
	case v.Kind() == reflect.Slice:
		list, ok := n.(*ast.SequenceNode)
		if !ok {
			return d.errorf(path, "want a list, like [a, b], not %s", describe(n))
		}
		v.Set(reflect.MakeSlice(v.Type(), len(list.Values), len(list.Values)))
		for i, item := range list.Values {
			if err := d.value(fmt.Sprintf("%s[%d]", path, i), item, v.Index(i)); err != nil {
				return err
			}
		}
		return nil
	}
	text, err := d.text(path, n)
	if err != nil {
		return err
	}
	if err := setText(v, text); err != nil {
		return d.fault(mistake(path, text, err))
	}
	return nil
}

// setText parses text and stores the value in v.
// It panics for a kind of field that no rule reads, which is a fault of this program.
func setText(v reflect.Value, text string) error {
	if t, ok := reflect.TypeAssert[encoding.TextUnmarshaler](v.Addr()); ok {
		return t.UnmarshalText([]byte(text))
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString(text)
	case reflect.Bool:
		yes, err := isTrue(text)
		v.SetBool(yes)
		return err
	case reflect.Int:
		// All whole numbers of a scenario are counts, and 0 stands for a key that is left out.
		i, err := strconv.Atoi(text)
		if err != nil || i < 1 {
			return fmt.Errorf("%q is not a whole number above 0", text)
		}
		v.SetInt(int64(i))
	default:
		panic("a scenario has a field of a kind nobody reads: " + v.Type().String())
	}
	return nil
}

// keysOf returns the YAML names of a struct's fields. Fields that are not part of the file have the name "-".
func keysOf(t reflect.Type) (keys []string) {
	for f := range t.Fields() {
		if key := f.Tag.Get("yaml"); key != "-" && f.IsExported() {
			keys = append(keys, key)
		}
	}
	return keys
}

// fieldOf returns the index of the struct field with a YAML name. It panics if there is none.
func fieldOf(t reflect.Type, key string) []int {
	for f := range t.Fields() {
		if f.Tag.Get("yaml") == key {
			return f.Index
		}
	}
	panic("no field has the key " + key)
}

// fields calls read for every key of a mapping. A key that is not in known is an error. Keys are read in the
// order of the file. known may hold anyVariable, alone or after envPrefix, for keys that can have any name.
func (d *decoder) fields(path string, n ast.Node, known []string, read func(key, path string, value ast.Node) error) error {
	m, ok := n.(ast.MapNode)
	if !ok {
		return d.errorf(path, "want keys and values (%s), not %s", strings.Join(known, ", "), describe(n))
	}
	for pair := m.MapRange(); pair.Next(); {
		key := pair.Key().GetToken().Value
		inner := strings.TrimPrefix(path+"."+key, ".")
		// An error before the value is read points at its key.
		d.at[inner] = placeOf(pair.Key().GetToken())
		if !slices.Contains(known, key) && !(strings.HasPrefix(key, envPrefix) && slices.Contains(known, envPrefix+anyVariable)) && !slices.Contains(known, anyVariable) {
			return d.at[inner].errorf("%sunknown key %q %s", strings.TrimPrefix(path+": ", ": "), key, prose.Choice(key, known))
		}
		// A key without a value is more likely a mistake than a wish for the default.
		if pair.Value().Type() == ast.NullType {
			return d.errorf(inner, "has no value; give one or leave the key out")
		}
		if err := read(key, inner, pair.Value()); err != nil {
			return err
		}
	}
	return nil
}

// text returns a scalar as it is written, without quotes.
func (d *decoder) text(path string, n ast.Node) (string, error) {
	switch n := n.(type) {
	case *ast.StringNode:
		if err := checkValue(n.Value); err != nil {
			return "", d.errorf(path, "%w", err)
		}
		return n.Value, nil
	// A block of text cannot have escapes, and checkText has seen its characters.
	case *ast.LiteralNode:
		return n.Value.Value, nil
	case *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode, *ast.InfinityNode, *ast.NanNode:
		return n.GetToken().Value, nil
	}
	return "", d.errorf(path, "want one value, not %s", describe(n))
}

// isTrue parses true or false. YAML's other spellings, such as yes and on, are errors.
func isTrue(text string) (bool, error) {
	if text != "true" && text != "false" {
		return false, fmt.Errorf("%q is neither true nor false", text)
	}
	return text == "true", nil
}

// describe returns a phrase for a node in a message. Anchors, tags and the like come with the remedy.
func describe(n ast.Node) string {
	switch n := n.(type) {
	case ast.MapNode:
		return "keys and values"
	case *ast.SequenceNode:
		return "a list"
	case *ast.NullNode:
		return "nothing"
	case *ast.AnchorNode, *ast.AliasNode, *ast.MergeKeyNode:
		return "an anchor or alias; write it out"
	case *ast.TagNode:
		return "a tag; leave it out"
	case *ast.StringNode:
		return fmt.Sprintf("%.40q", n.Value)
	}
	return fmt.Sprintf("%.40q", n.GetToken().Value)
}
