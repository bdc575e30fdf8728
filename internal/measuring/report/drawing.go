package report

import (
	_ "embed"
	"html/template"
	"sync"

	"schedlab/internal/measuring/report/chart"
	"schedlab/internal/measuring/report/say"
	"schedlab/internal/shared/stats"
)

// drawings holds the templates of drawings that only a comparison needs.
//
//go:embed charts.html
var drawings string

// comparisonTemplates are the parsed templates of drawings. Their functions format figures as the rest of a report does.
var comparisonTemplates = sync.OnceValue(func() *template.Template {
	return chart.Templates(drawings, template.FuncMap{
		"inverse": func(v float64) float64 { return 1 / v },
		"label":   func(f stats.Figure) string { return f.Row().Label }, "change": say.Change, "between": between,
	})
})

// draw fills in one template of charts.html.
func draw(name string, of any) template.HTML { return chart.Draw(comparisonTemplates(), name, of) }
