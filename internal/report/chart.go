package report

import (
	_ "embed"
	"html/template"
	"strings"
	"sync"

	"schedlab/internal/report/document"
)

//go:embed charts.html
var chartSource string

var chartTemplates = sync.OnceValue(func() *template.Template {
	return template.Must(template.New("charts").Parse(chartSource))
})

// draw fills in one chart's template. A template that does not fit its chart is a bug.
func draw(name string, chart any) template.HTML {
	var b strings.Builder
	if err := chartTemplates().ExecuteTemplate(&b, name, chart); err != nil {
		panic(err)
	}
	return template.HTML(b.String()) // html/template has escaped it
}

// A plot is the frame that charts share: a drawing's size, the room for what is drawn,
// and the ticks of both axes.
type plot struct {
	Width, Height            px
	Left, Right, Top, Bottom px // of the room
	X, Y                     []tick
}

// keys are the legend of series.
func keys(all []series) (keys []document.Key) {
	for _, s := range all {
		keys = append(keys, document.Key{Class: s.Class, Name: s.Name})
	}
	return keys
}
