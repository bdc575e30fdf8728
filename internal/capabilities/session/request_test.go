package session

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"schedlab/internal/measuring/scenario"
)

// fill gives every field of a request a value of its own.
func fill(t *testing.T, v reflect.Value) {
	t.Helper()
	switch at := v.Addr().Interface().(type) {
	case *scenario.Rate:
		at.OfSlowest = .7
	case *time.Duration:
		*at = 3 * time.Second
	case *string:
		*at = `a "b", 'c'`
	case *[]string:
		*at = []string{"a,b", ""}
	case *bool:
		*at = true
	case *int:
		*at = 7
	case **uint64:
		*at = new(uint64)
	default:
		if v.Kind() != reflect.Struct {
			t.Fatalf("a request has a %s", v.Type())
		}
		for _, field := range v.Fields() {
			fill(t, field)
		}
	}
}

// Whatever a request asks, another process reads the same.
func TestOrdersAreReadAsTheyWereWritten(t *testing.T) {
	t.Parallel()
	var compare Compare
	var gate Gate
	var capacity Capacity
	fill(t, reflect.ValueOf(&compare).Elem())
	fill(t, reflect.ValueOf(&gate).Elem())
	fill(t, reflect.ValueOf(&capacity).Elem())
	for _, want := range []Order{
		{Compare: &compare, Output: "text", Verbose: true, Progress: "json"}, {Gate: &gate, Output: "summary"}, {Capacity: &capacity},
		{Compare: new(Compare)}, {Gate: new(Gate)}, {Capacity: new(Capacity)},
	} {
		text, err := want.JSON()
		if err != nil {
			t.Fatal(err)
		}
		got, err := ReadOrder(text)
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("%s: %v (-want +got):\n%s", text, err, diff)
		}
		got.Common().Note = "mine"
		if text, err := got.JSON(); err != nil || !strings.Contains(string(text), `"note":"mine"`) || reflect.TypeOf(got.Request()) == nil {
			t.Errorf("%s, %v", text, err)
		}
	}
}

// An order of another version is refused, and nothing of it is done.
func TestOrdersOfOtherVersionsAreRefused(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", "{}", `{"compare":{"later":1}}`, `{"later":{}}`, `{"compare":{},"gate":{}}`, `{"compare":{"rate":"fast"}}`} {
		_, err := ReadOrder([]byte(text))
		if bad, ok := err.(*Error); !ok || bad.Code != Mistake || !strings.Contains(err.Error(), "another version of schedlab") {
			t.Errorf("%s: %v", text, err)
		}
	}
}
