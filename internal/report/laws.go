package report

import (
	"fmt"
	"strings"

	"schedlab/internal/record"
)

// laws says how near the valid windows came to breaking each law of the audit; ""
// when none was checked.
func laws(all []record.Law) string {
	most := 0
	for _, l := range all {
		most = max(most, l.Windows)
	}
	if most == 0 {
		return ""
	}
	parts := make([]string, len(all))
	for i, l := range all {
		allowed := "none"
		if l.Limit > 0 {
			allowed = lawFigure(l.Limit, l.Unit)
		}
		if allowed += " allowed"; l.Windows < most {
			allowed += ", " + plural(l.Windows, "window")
		}
		parts[i] = fmt.Sprintf("%s %s (%s)", l.Name, lawFigure(l.Value, l.Unit), allowed)
	}
	return fmt.Sprintf("worst of %s: %s", plural(most, "valid window"), strings.Join(parts, "; "))
}

func lawFigure(v float64, unit string) string {
	switch unit {
	case "ratio":
		return fmt.Sprintf("%.2g%s%%", 100*v, nbsp)
	case "s":
		return seconds(v)
	}
	return plural(int(v), strings.TrimSuffix(unit, "s"))
}
