package fact

import (
	"maps"
	"reflect"
	"slices"
	"strings"
)

// Named registers a kind of fact as New does, for values that are no fields of a struct: numbers and names list the keys that
// they have in JSON. sentences has the main sentence under the key "", and each sentence of [Also] under its name. A sentence calls
// a value as [Field] spells its key ({{.InFlight}} for in_flight), and is checked as with [New].
func Named(code Code, sentences map[string]string, numbers, names []string) {
	k := &kind{code: code}
	for _, key := range numbers {
		k.fields = append(k.fields, field{name: Field(key), of: reflect.TypeFor[float64](), key: key})
	}
	for _, key := range names {
		k.fields = append(k.fields, field{name: Field(key), of: reflect.TypeFor[string](), key: key})
	}
	register(k)
	for _, part := range slices.Sorted(maps.Keys(sentences)) {
		k.say(part, sentences[part])
	}
}

// Field returns the name of a value in the sentences of a kind that [Named] registered: InFlight for the key in_flight.
func Field(key string) string {
	var name strings.Builder
	for word := range strings.SplitSeq(key, "_") {
		name.WriteString(strings.ToUpper(word[:1]) + word[1:])
	}
	return name.String()
}

// Told returns a fact of a kind that [Named] registered, with its values by their keys.
func Told(code Code, numbers map[string]float64, names map[string]string) Fact {
	return Fact{Code: code, values: numbers, names: names}
}

// Told returns the values of the fact by their keys, for a table of such facts.
func (f Fact) Told() (numbers map[string]float64, names map[string]string) { return f.values, f.names }
