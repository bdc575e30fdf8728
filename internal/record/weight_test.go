package record

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestByWeight(t *testing.T) {
	t.Parallel()
	var got []Code
	for _, f := range ByWeight([]Fact{
		{Code: "one-cpu"}, {Code: OneHost}, {Code: "uneven-probe"}, {Code: Virtualised}, {Code: "starved-connections"}, {Code: "of another version"}, {Code: StickyPool}, {Code: "rate-lowered"},
	}) {
		got = append(got, f.Code)
	}
	want := []Code{StickyPool, "starved-connections", "rate-lowered", "uneven-probe", "of another version", "one-cpu", Virtualised, OneHost}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if !StickyPool.Decides() || Code("uneven-probe").Decides() || OneHost.Decides() {
		t.Error("a starved pool alone decides")
	}
}
