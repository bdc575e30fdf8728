package expect

import (
	"errors"
	"testing"
)

// A claim's sentence has the medians of the run in the units of a reader.
func TestASentenceHasTheRunsFigures(t *testing.T) {
	t.Parallel()
	r := fake{blocks: 3, figures: map[string][]float64{
		"mean pool": {.02, .0434, .05}, "goodput pool": {1048, 1050, 900}, "loss pool": {.5, .25, .125},
	}}
	for text, want := range map[string]string{
		`no figure`:                         `no figure`,
		`its mean is {mean("pool")}, not 0`: `its mean is 43.4 ms, not 0`,
		`{goodput("pool")} and {100 * loss("pool")} % lost`: `1,048/s and 25 % lost`,
		`{mean("pool") / 2ms} times`:                        `21.7 times`,
		`{mean("other")} of an arm without one`:             `… of an arm without one`,
	} {
		s, err := ParseSentence(text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if got := s.Say(r); got != want {
			t.Errorf("%s: got %q, want %q", text, got, want)
		}
	}
	for text, at := range map[string]int{`ä {mean("pool"`: 2, `ä {median("pool")} or {`: 3, `{mean("pool")} {`: 15, `{mean("poool")}`: 6, `ä {mean("pool")} or {mean("poool")}`: 26, `{mean("pool") > 1}`: 1} {
		s, err := ParseSentence(text)
		if err == nil {
			err = s.CheckArms([]string{"pool"})
		}
		if bad, ok := errors.AsType[*Error](err); !ok || bad.At != at {
			t.Errorf("%s: got %#v, want an error at %d", text, err, at)
		}
	}
}
