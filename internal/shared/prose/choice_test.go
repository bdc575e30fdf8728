package prose

import (
	"strings"
	"testing"
)

// A slip of the finger finds the name that was meant, and another word finds none.
func TestChoice(t *testing.T) {
	t.Parallel()
	names := []string{"nethttp", "fasthttp", "pool", "pool-request", "loop", "workers", "workload"}
	for word, want := range map[string]string{
		"nethtp":   "(did you mean nethttp?)",
		"NetHTTP":  "(did you mean nethttp?)",
		"poool":    "(did you mean pool?)",
		"lopo":     "(did you mean loop?)",
		"wrkers":   "(did you mean workers?)",
		"pool-req": "(did you mean pool-request?)",
		"work":     "(did you mean workers or workload?)",
		"nothing":  "(want one of nethttp, fasthttp, pool, pool-request, loop, workers, workload)",
		"po":       "(want one of nethttp, fasthttp, pool, pool-request, loop, workers, workload)",
		"":         "(want one of nethttp, fasthttp, pool, pool-request, loop, workers, workload)",
		// It takes no time.
		strings.Repeat("pool", 1<<20): "(want one of nethttp, fasthttp, pool, pool-request, loop, workers, workload)",
	} {
		if got := Choice(word, names); got != want {
			t.Errorf("%.20s: got %q, want %q", word, got, want)
		}
	}
	if got, want := Choice("p95", []string{"p50", "p90", "p99"}), "(want one of p50, p90, p99)"; got != want {
		t.Errorf("of a few names: got %q, want %q", got, want)
	}
	if got := DidYouMean("nothing", names); got != "" {
		t.Errorf("got %q for a word that is near none", got)
	}
}

func TestEdits(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		a, b string
		want int
	}{
		{"", "", 0}, {"rate", "rate", 0}, {"rte", "rate", 1}, {"raet", "rate", 1}, {"rates", "rate", 1}, {"rote", "rate", 1}, {"arms", "rate", 3},
	} {
		if got := edits([]rune(c.a), []rune(c.b)); got != c.want {
			t.Errorf("%s to %s: got %d, want %d", c.a, c.b, got, c.want)
		}
	}
}
