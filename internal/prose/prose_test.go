package prose_test

import (
	"testing"

	"schedlab/internal/prose"
)

func TestPlural(t *testing.T) {
	t.Parallel()
	for n, want := range map[int]string{0: "0 blocks", 1: "1 block", 2: "2 blocks"} {
		if got := prose.Plural(n, "block"); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestFirstLine(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{"": "", " a b \nc": "a b", "a": "a", "\na": ""} {
		if got := prose.FirstLine(text); got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
}
