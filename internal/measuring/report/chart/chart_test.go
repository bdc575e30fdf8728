package chart

import (
	"strings"
	"testing"

	"schedlab/internal/shared/record"
)

// An arm has the same colour wherever it stands, and two arms of a page have different ones.
func TestColourOfAnArm(t *testing.T) {
	t.Parallel()
	series := func(names ...string) map[string]string {
		arms := []record.Contestant{{Name: "base", Role: record.Baseline}, {Name: "base'", Role: record.Copy}}
		for _, name := range names {
			arms = append(arms, record.Contestant{Name: name, Role: record.Challenger})
		}
		class := map[string]string{}
		for _, s := range SeriesOf(arms) {
			class[s.Name] = s.Class
		}
		return class
	}
	one, other := series("fasthttp", "pool"), series("pool")
	if one["pool"] != other["pool"] || one["pool"] == one["fasthttp"] || one["base"] != "base" || one["base'"] != "base dash" {
		t.Errorf("got %v and %v", one, other)
	}
	names := strings.Split("a b c d e f g h i j", " ")
	many, used := series(names...), map[string]bool{}
	for i, name := range names {
		if dashed := strings.HasSuffix(many[name], " dash"); dashed != (i >= 7) || used[many[name]] {
			t.Errorf("arm %d of ten has %q", i+1, many[name])
		}
		used[many[name]] = true
	}
}
