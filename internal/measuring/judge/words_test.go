package judge

import (
	"schedlab/internal/shared/fact"
	"schedlab/internal/shared/stats"
)

// words is a reason as its reader sees it, "" for none.
func words(f fact.Fact) string {
	if f.None() {
		return ""
	}
	return f.String()
}

// decision returns the decision with this text: a rank, open or refused.
func decision(text string) (d stats.Decision) {
	if err := d.UnmarshalText([]byte(text)); err != nil {
		panic(err)
	}
	return d
}
