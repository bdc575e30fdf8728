package judge

import (
	"schedlab/internal/record"
)

// words is a reason as its reader sees it, "" for none.
func words(f record.Fact) string {
	if f.None() {
		return ""
	}
	return f.String()
}
