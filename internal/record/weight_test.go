package record

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestByWeight(t *testing.T) {
	t.Parallel()
	var got []Code
	for _, f := range ByWeight([]Fact{
		{Code: OneCPU}, {Code: OneHost}, {Code: UnevenProbe}, {Code: Virtualised}, {Code: StarvedConnections}, {Code: "of another version"}, {Code: StickyPool}, {Code: RateLowered},
	}) {
		got = append(got, f.Code)
	}
	want := []Code{StickyPool, StarvedConnections, UnevenProbe, "of another version", RateLowered, OneCPU, Virtualised, OneHost}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if !StickyPool.Decides() || UnevenProbe.Decides() || OneHost.Decides() {
		t.Error("a starved pool alone decides")
	}
}
