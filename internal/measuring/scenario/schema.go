package scenario

import (
	"encoding"
	"maps"
	"reflect"
	"slices"
	"strings"

	"schedlab/internal/shared/mode"
	"schedlab/internal/shared/workload"
)

// SchemaFile is the name under which a user keeps the schema beside scenario files, and Modeline is the line by which an
// editor finds it there.
const (
	SchemaFile = "schedlab-scenario.json"
	Modeline   = "# yaml-language-server: $schema=./" + SchemaFile + "\n"
)

// A JSONSchema is a JSON Schema, as far as the one of scenario files needs it. It marshals to JSON.
type JSONSchema struct {
	Schema      string                 `json:"$schema,omitempty"`
	Title       string                 `json:"title,omitempty"`
	Description string                 `json:"description,omitempty"`
	Type        any                    `json:"type,omitempty"` // a name, or a list of names
	Enum        []string               `json:"enum,omitempty"`
	Pattern     string                 `json:"pattern,omitempty"`
	Minimum     int                    `json:"minimum,omitempty"`
	AnyOf       []*JSONSchema          `json:"anyOf,omitempty"`
	Items       *JSONSchema            `json:"items,omitempty"`
	MinItems    int                    `json:"minItems,omitempty"`
	Required    []string               `json:"required,omitempty"`
	Properties  map[string]*JSONSchema `json:"properties,omitempty"`
	// Patterns are the properties whose names match an expression; Others is of all other properties, false for none.
	Patterns map[string]*JSONSchema `json:"patternProperties,omitempty"`
	Others   any                    `json:"additionalProperties,omitempty"`
}

// Schema returns the JSON Schema of a scenario file, by which editors complete and check keys. It is made of the types
// that decode reads, so both know the same keys; the rules of check are not in it. modes are the names that are offered
// for an arm; other names are allowed, since a schema may be older than the program.
func Schema(modes []string) *JSONSchema {
	s := schemaOf(reflect.TypeFor[Scenario](), modes)
	s.Schema = "http://json-schema.org/draft-07/schema#" // the newest that editors know well
	s.Title = "a scenario of schedlab"
	s.Required = []string{"name", "question", "arms"}
	return s
}

// Forms of texts. A quoted number is none of them in YAML, but the program reads it: a pattern speaks of texts only.
const (
	durationForm = `^([0-9]*\.?[0-9]+(ns|us|µs|ms|s|m|h))+$`
	rateForm     = `^[0-9][0-9.,e+]*(/s|x)$`
)

// schemaOf returns the schema of a type of a scenario. It panics for a type that it does not know, as setText does.
func schemaOf(t reflect.Type, modes []string) *JSONSchema {
	switch t {
	case reflect.TypeFor[Arm]():
		return armSchema(modes)
	case reflect.TypeFor[varied]():
		return variedSchema(clientKeys)
	case reflect.TypeFor[Rate]():
		return &JSONSchema{Type: "string", Pattern: rateForm}
	case reflect.TypeFor[Retries]():
		return &JSONSchema{Type: "integer"}
	case reflect.TypeFor[Duration]():
		return &JSONSchema{Type: "string", Pattern: durationForm}
	case reflect.TypeFor[workload.Dist](), reflect.TypeFor[Share]():
		return &JSONSchema{Type: []string{"string", "number"}} // 0 is a time
	}
	_, text := reflect.TypeAssert[encoding.TextUnmarshaler](reflect.New(t))
	switch {
	case text:
		return &JSONSchema{Type: "string"}
	case t.Kind() == reflect.String:
		return &JSONSchema{Type: []string{"string", "number"}} // as in http: 2
	case t.Kind() == reflect.Bool:
		return &JSONSchema{Type: "boolean"}
	case t.Kind() == reflect.Int:
		return &JSONSchema{Type: "integer", Minimum: 1}
	case t.Kind() == reflect.Slice:
		return &JSONSchema{Type: "array", Items: schemaOf(t.Elem(), modes)}
	case t.Kind() == reflect.Struct:
		s := &JSONSchema{Type: "object", Properties: map[string]*JSONSchema{}, Others: false}
		for f := range t.Fields() {
			if key := f.Tag.Get("yaml"); key != "-" && f.IsExported() {
				s.Properties[key] = schemaOf(f.Type, modes).saying(f.Tag.Get("help"))
			}
		}
		return s
	}
	panic("a scenario has a type without a schema: " + t.String())
}

// saying returns the schema with a description.
func (s JSONSchema) saying(what string) *JSONSchema {
	s.Description = what
	return &s
}

// anyValue is the schema of a value that is kept as a text.
func anyValue() *JSONSchema { return &JSONSchema{Type: []string{"string", "number", "boolean"}} }

// armSchema returns the schema of an arm: a mode, or keys and values.
func armSchema(modes []string) *JSONSchema {
	// The list is offered, and every other text is allowed.
	named := JSONSchema{AnyOf: []*JSONSchema{{Enum: modes}, {Type: "string"}}}
	keys := map[string]*JSONSchema{
		"name":    {Type: "string", Description: "name in verdicts and reports (default the mode with its settings)"},
		"mode":    named.saying("one of schedlab's own servers; 'schedlab modes' describes them"),
		"command": {Type: "string", Description: "command line of any server: {addr}, or {host} and {port}, become the address where it listens, {admin} a second one, {dir} an empty directory"},
		"url":     {Type: "string", Description: "http://host:port of a server that runs already"},
		"env":     {Type: "object", Others: anyValue(), Description: "environment variables of the server, added to the inherited ones"},
		"metrics": {Type: "string", Description: "where a command or url shows its metrics: /path, :PORT/path or a URL"},
		"vary":    variedSchema(VaryFactors()).saying("flags, settings of the load or environment variables with several values each: an arm for every combination"),
	}
	maps.Copy(keys, settingSchemas(VaryFactors()))
	return &JSONSchema{AnyOf: []*JSONSchema{
		named.saying("a mode without flags"),
		{Type: "object", Properties: keys, Patterns: variables(anyValue()), Others: false},
	}}
}

// variables returns the schema of environment variables among an arm's settings.
func variables(s *JSONSchema) map[string]*JSONSchema {
	return map[string]*JSONSchema{"^" + strings.ReplaceAll(envPrefix, ".", `\.`): s.saying("an environment variable of the server")}
}

// variedSchema returns the schema of settings with several values each. Only an arm has environment variables.
func variedSchema(settings []string) *JSONSchema {
	s := &JSONSchema{Type: "object", Properties: map[string]*JSONSchema{}, Others: false}
	list := func(item *JSONSchema) *JSONSchema {
		return (&JSONSchema{Type: "array", MinItems: 1, Items: item}).saying(item.Description)
	}
	for name, value := range settingSchemas(settings) {
		s.Properties[name] = list(value)
	}
	if slices.ContainsFunc(settings, IsFlag) {
		s.Patterns = variables(list(anyValue()))
	}
	return s
}

// settingSchemas returns the schemas of settings of an arm: server flags and settings of the load.
func settingSchemas(settings []string) map[string]*JSONSchema {
	all := map[string]*JSONSchema{}
	for _, f := range mode.Flags {
		if slices.Contains(settings, f.Name) {
			all[f.Name] = anyValue().saying(f.Help)
			if f.Words != nil {
				all[f.Name] = (&JSONSchema{Enum: f.Words}).saying(f.Help)
			}
		}
	}
	for _, name := range settings {
		switch {
		case slices.Contains(processKeys, name):
			all[name] = (&JSONSchema{Type: []string{"string", "number"}}).saying("limit on the server's CPU time, in CPUs: a control group of its own, with a quota of so much in each 100 ms")
		case !IsFlag(name):
			f := reflect.TypeFor[Load]().FieldByIndex(fieldOf(reflect.TypeFor[Load](), name))
			all[name] = schemaOf(f.Type, nil).saying(f.Tag.Get("help"))
		}
	}
	return all
}
