package fact

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"text/template"
	"time"
	"unicode"

	"schedlab/internal/shared/stats"
)

// A Kind is what all facts of one code have in common: their words, their weight, and a struct T with their values.
//
// T has a field for each value: a string, several strings, a bool, an int, a float64, a time.Duration, or a [stats.Opt],
// which sentences see as a float64. Its key in JSON is the name of its json tag, else the field's name with underscores, as
// needs_window for NeedsWindow. Strings are written below "names", several with "; " between them, and all others below
// "values", a bool as 1 or 0, a duration in seconds. A field with the option omitempty is left out where it is zero, an Opt
// where it is not known, an *int where it is nil, and the fields of an embedded pointer to a struct where that is nil.
//
// The linker keeps every exported method of Kind for each of some two hundred types, used or not. So Kind has only Of, which
// is a short call; its receiver is a pointer, since the linker would keep a method of a value twice. [In], [New] and [Also] are
// functions for the same reason, and [Code.Is] is a method of the code.
type Kind[T any] struct{ Code Code }

// A Sentence is one more way to put a kind into words.
type Sentence struct{ name, text string }

// Also returns another sentence for New. Fact.Part(name) prints it.
func Also(name, text string) Sentence { return Sentence{name, text} }

// New registers a kind of fact with its sentence, without a full stop. text is a [text/template]; its dot has the fields
// of T and the fact's Arm, Baseline, Metric and Because. It can use a [Part] that was registered before, by {{template
// "name" .}}. Call New only to initialise package variables. It panics if the code is taken, if a branch of a sentence
// names a field that its dot lacks, or if it gives a function an argument of the wrong type.
//
// weight orders doubts by their effect on the answer, the largest first. A doubt above 0 decides whether there is an answer;
// every run on a similar machine has the doubts below 0.
func New[T any](code Code, weight int, text string, others ...Sentence) *Kind[T] {
	return (*Kind[T])(addKind(code, weight, reflect.TypeFor[T](), text, others))
}

// Plain registers a kind without values, and returns its fact.
func Plain(code Code, weight int, text string) Fact {
	return New[struct{}](code, weight, text).Of(struct{}{})
}

// Disturbing makes those facts of a kind disturb a run for which when returns true: see [Fact.Disturbs].
func Disturbing[T any](k *Kind[T], when func(T) bool) *Kind[T] {
	kinds[k.Code].disturbs = func(f Fact) bool {
		v, is := In(k, f)
		return is && when(v)
	}
	return k
}

// Of returns a fact of this kind with the values.
func (k *Kind[T]) Of(values T) (f Fact) {
	f.set(k.Code, values)
	return f
}

// set is never inlined, and copies into f, so that the Of of each of some two hundred types is a short call.
//
//go:noinline
func (f *Fact) set(code Code, values any) { *f = Fact{Code: code}.And(values) }

// And returns f with more values, which were not known when f was made. They are the fields of a struct; each must be a
// field of f's kind.
func (f Fact) And(values any) Fact {
	f.values, f.names = maps.Clone(f.values), maps.Clone(f.names)
	v := reflect.ValueOf(values)
	for _, of := range fieldsOf(v.Type()) {
		if !slices.ContainsFunc(kinds[f.Code].fields, func(own field) bool { return own.key == of.key && own.of == of.of }) {
			panic(fmt.Sprintf("fact %q has no %s", f.Code, of.name))
		}
		of.encode(&f, v)
	}
	return f
}

// Replacing returns f about the arm, the baseline and the metric of g, for g's reasons.
func (f Fact) Replacing(g Fact) Fact {
	f.Arm, f.Baseline, f.Metric, f.Because = g.Arm, g.Baseline, g.Metric, g.Because
	return f
}

// In returns the values of f, and whether f is of the kind.
func In[T any](k *Kind[T], f Fact) (values T, is bool) {
	is = read(&f, k.Code, &values)
	return values, is
}

// read sets the struct that values points to, if f is of its kind, and reports whether f is.
func read(f *Fact, code Code, values any) bool {
	if f.Code != code {
		return false
	}
	v := reflect.ValueOf(values).Elem()
	for _, of := range kinds[code].fields {
		if at, has := of.in(*f, v); has {
			of.decode(*f, at)
		}
	}
	return true
}

// Is reports whether f is of the kind with the code.
func (c Code) Is(f Fact) bool { return f.Code == c }

// Decides reports whether a doubt of this kind decides whether the answer stands.
func (c Code) Decides() bool { return c.weight() > 0 }

// General reports whether every run on such a machine has a doubt of this kind.
func (c Code) General() bool { return c.weight() < 0 }

// weight returns the weight of the code's kind; 0 for an unknown code.
func (c Code) weight() int {
	if k := kinds[c]; k != nil {
		return k.weight
	}
	return 0
}

// ByWeight sorts doubts in place, the weightiest first, and returns them.
func ByWeight(doubts []Fact) []Fact {
	slices.SortStableFunc(doubts, func(a, b Fact) int { return b.Code.weight() - a.Code.weight() })
	return doubts
}

// kinds are all registered kinds by code.
var kinds = map[Code]*kind{}

// A kind is a Kind without its type parameter. It does the work.
type kind struct {
	code     Code
	weight   int
	fields   []field
	view     reflect.Type    // the dot of its sentences: [about] and the fields of values
	disturbs func(Fact) bool // nil for a kind that never does
	names    map[string]bool // the fields of its dot that its sentence names; [Fact.Alike] asks for Arm, Baseline and Metric
}

// about is what the sentences of every kind can name.
type about struct {
	Arm, Baseline, Metric string
	Because               []Fact
}

// A field is a value of a kind.
type field struct {
	name      string
	index     []int
	of        reflect.Type
	key       string // in JSON
	omitEmpty bool
}

// addKind registers a kind of fact that has the values of a struct, and returns what every [Kind] is.
func addKind(code Code, weight int, values reflect.Type, text string, others []Sentence) *struct{ Code Code } {
	k := &kind{code: code, weight: weight, fields: fieldsOf(values)}
	register(k)
	k.say("", text)
	for _, other := range others {
		k.say(other.name, other.text)
	}
	return &struct{ Code Code }{code}
}

func register(k *kind) {
	if kinds[k.code] != nil {
		panic(fmt.Sprintf("two kinds of fact with the code %q", k.code))
	}
	k.view = k.viewOf()
	kinds[k.code] = k
}

// fieldsOf returns the fields of a struct and of the structs that it embeds.
func fieldsOf(values reflect.Type) (all []field) {
	for _, f := range reflect.VisibleFields(values) {
		if f.Anonymous {
			if f.Type.Kind() == reflect.Pointer && !f.IsExported() {
				panic(fmt.Sprintf("%s.%s: a pointer to an unexported type cannot be set", values, f.Name))
			}
			continue
		}
		if f.Type.Kind() != reflect.String && f.Type != reflect.TypeFor[[]string]() && f.Type != reflect.TypeFor[stats.Opt]() && !isNumber(f.Type) {
			panic(fmt.Sprintf("%s.%s: a fact's value is a string, a []string, a bool, an int, an *int, a float64, a time.Duration or a stats.Opt", values, f.Name))
		}
		key, option, _ := strings.Cut(f.Tag.Get("json"), ",")
		if key == "" {
			key = underscored(f.Name)
		}
		all = append(all, field{name: f.Name, index: f.Index, of: f.Type, key: key, omitEmpty: option == "omitempty" || f.Type.Kind() == reflect.Pointer})
	}
	return all
}

// underscored returns needs_window for NeedsWindow.
func underscored(name string) string {
	var b strings.Builder
	lower := false // whether the letter before is
	for _, r := range name {
		if unicode.IsUpper(r) && lower {
			b.WriteByte('_')
		}
		lower = !unicode.IsUpper(r)
		b.WriteRune(unicode.ToLower(r))
	}
	return b.String()
}

// encode sets the field's value in f, if values have it.
func (of field) encode(f *Fact, values reflect.Value) {
	v, err := values.FieldByIndexErr(of.index) // an error within a nil pointer
	if err != nil || of.omitEmpty && v.IsZero() {
		return
	}
	if of.isName() {
		if f.names == nil {
			f.names = map[string]string{}
		}
		f.names[of.key] = v.String()
		if several, is := reflect.TypeAssert[[]string](v); is {
			f.names[of.key] = strings.Join(several, between)
		}
		return
	}
	figure := 0.0
	if opt, is := reflect.TypeAssert[stats.Opt](v); !is {
		figure = number(v)
	} else if figure, is = opt.Get(); !is {
		return
	}
	if f.values == nil {
		f.values = map[string]float64{}
	}
	f.values[of.key] = figure
}

// between stands between several strings: no name of an arm has it.
const between = "; "

// isName reports whether the field is one or several strings.
func (of field) isName() bool { return of.of.Kind() == reflect.String || of.of.Kind() == reflect.Slice }

// in returns the field in values, for the caller to set. If a nil pointer is on the way to it, in allocates the struct where f
// has the field; has is false where f has not.
func (of field) in(f Fact, values reflect.Value) (v reflect.Value, has bool) {
	_, value := f.values[of.key]
	_, name := f.names[of.key]
	for _, i := range of.index {
		if values.Kind() == reflect.Pointer {
			if values.IsNil() && !value && !name {
				return v, false
			}
			if values.IsNil() {
				values.Set(reflect.New(values.Type().Elem()))
			}
			values = values.Elem()
		}
		values = values.Field(i)
	}
	return values, true
}

// decode sets v to the field's value in f, the zero value if f has none.
func (of field) decode(f Fact, v reflect.Value) {
	figure := f.values[of.key]
	switch v.Kind() {
	case reflect.Int64:
		v.SetInt(int64(nearest(figure)))
	case reflect.String:
		v.SetString(f.names[of.key])
	case reflect.Slice:
		if name := f.names[of.key]; name != "" {
			v.Set(reflect.ValueOf(strings.Split(name, between)))
		}
	case reflect.Bool:
		v.SetBool(figure != 0)
	case reflect.Int:
		v.SetInt(int64(figure))
	case reflect.Pointer:
		if _, has := f.values[of.key]; has {
			v.Set(reflect.ValueOf(new(int(figure))))
		}
	case reflect.Float64:
		v.SetFloat(figure)
	case reflect.Struct:
		if _, has := f.values[of.key]; has {
			v.Set(reflect.ValueOf(stats.Known(figure)))
		}
	}
}

// isNumber reports whether number takes values of a type.
func isNumber(t reflect.Type) bool {
	switch t.Kind() {
	case reflect.Bool, reflect.Int, reflect.Float64:
		return true
	case reflect.Pointer:
		return t.Elem().Kind() == reflect.Int
	}
	return t == reflect.TypeFor[time.Duration]()
}

// number returns a bool, an integer, a float or the seconds of a duration as a float64.
func number(v reflect.Value) float64 {
	switch v.Kind() {
	case reflect.Int64:
		return time.Duration(v.Int()).Seconds()
	case reflect.Bool:
		if v.Bool() {
			return 1
		}
		return 0
	case reflect.Int:
		return float64(v.Int())
	case reflect.Pointer:
		return number(v.Elem())
	}
	return v.Float()
}

// viewOf returns the type of the dot of the kind's sentences.
func (k *kind) viewOf() reflect.Type {
	all := reflect.VisibleFields(reflect.TypeFor[about]())
	for _, f := range k.fields {
		of := f.of
		if of == reflect.TypeFor[stats.Opt]() {
			of = reflect.TypeFor[float64]()
		}
		all = append(all, reflect.StructField{Name: f.name, Type: of})
	}
	return reflect.StructOf(all)
}

// dot returns what the sentences of the kind see of f.
func (k *kind) dot(f Fact) any {
	v := reflect.New(k.view).Elem()
	for i, of := range []any{f.Arm, f.Baseline, f.Metric, f.Because} {
		v.Field(i).Set(reflect.ValueOf(of))
	}
	for _, of := range k.fields {
		of.decode(f, v.FieldByName(of.name))
	}
	return v.Interface()
}

// template returns the name of a sentence of the kind.
func (k *kind) template(part string) string { return strings.TrimSpace(string(k.code) + " " + part) }

// say registers a sentence, checks it, and executes it once with a fact without values.
func (k *kind) say(part, text string) {
	name := k.template(part)
	add(name, text)
	names, err := check(name, k.view)
	if err != nil {
		panic(fmt.Sprintf("fact %q: %v", name, err))
	}
	if part == "" {
		k.names = names
	}
	if err := sentences.ExecuteTemplate(nowhere{}, name, k.dot(Fact{})); err != nil {
		panic(fmt.Sprintf("fact %q without values: %v", name, err))
	}
}

type nowhere struct{}

func (nowhere) Write(p []byte) (int, error) { return len(p), nil }

// Part registers words that several sentences use by {{template "name" .}}, and returns the name. Each sentence that uses
// them checks them, too. Call Part only to initialise package variables, above the kinds that use it.
func Part(name, text string) string {
	add(name, text)
	return name
}

// add parses words. It panics if the name has some already.
func add(name, text string) {
	if sentences.Lookup(name) != nil {
		panic(fmt.Sprintf("two sentences for %q", name))
	}
	template.Must(sentences.New(name).Parse(text))
}
