package report

import (
	"fmt"
	"strings"

	"schedlab/internal/record"
)

// wide is the tolerance of a law, a ratio, from which holding to it says little.
const wide = .25

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
		if allowed += " allowed"; l.Unit == "ratio" && l.Limit > wide {
			allowed += ", which checks little"
		}
		if l.Windows < most {
			allowed += ", " + plural(l.Windows, "window")
		}
		_, of, _ := strings.Cut(l.Unit, "ratio")
		parts[i] = fmt.Sprintf("%s %s%s (%s)", l.Name, lawFigure(l.Value, l.Unit), of, allowed)
	}
	return fmt.Sprintf("worst of %s: %s", plural(most, "window"), strings.Join(parts, "; "))
}

// lawFigure writes a value or a limit, without what a ratio is of.
func lawFigure(v float64, unit string) string {
	if strings.HasPrefix(unit, "ratio") {
		return fmt.Sprintf("%.*f%s%%", decimals(100*v, 2), 100*v, nbsp)
	}
	return plural(int(v), strings.TrimSuffix(unit, "s"))
}
