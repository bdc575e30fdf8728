package report

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"schedlab/internal/measuring/report/chart"
	"schedlab/internal/measuring/report/document"
	"schedlab/internal/measuring/report/say"
	"schedlab/internal/shared/doubt"
	"schedlab/internal/shared/outcome"
	"schedlab/internal/shared/prose"
	"schedlab/internal/shared/record"
	"schedlab/internal/shared/stats"
)

// This file builds the first lines of every report of a run: the answer in few words, a chip for each arm, and what else
// [Headline] says.

// A top is the first lines of a report. Together they say what Headline says, and nothing of it twice, except a long sentence that
// document.Split finds no place to cut.
type top struct {
	answer string          // of at most document.ShortWords words
	chips  []document.Chip // one for each arm that was compared with another
	axis   string          // of the chips' bars
	lead   []string        // the rest of the answer: sentences without a full stop
}

// Short returns the answer of a run in at most document.ShortWords words. Headline says the same with its figures.
func Short(r record.Result) string { return topOf(r).answer }

// Chips returns the answer of a run in a word for each arm; none if its question is not which arm is better.
func Chips(r record.Result) []document.Chip { return topOf(r).chips }

// topOf returns the first lines of a run's report. If other programs kept the run from an answer, they come first, and
// what the run would have answered is a line of the lead.
func topOf(r record.Result) top {
	p := pageOf(r)
	t := p.top()
	if busy := doubt.TooBusy(r.Head().Doubts); say.TooBusy(busy) != "" {
		tell(t.chips) // in the line "So far"
		out := ""
		if nextOf(r).command == "" {
			out = wayOut(r.Head())
		}
		return top{answer: say.TooBusy(busy), chips: t.chips, lead: say.BelowTooBusy(busy, p.found(), out)}
	}
	return t
}

// tell marks chips as told by another line, which has their texts, too.
func tell(chips []document.Chip) {
	for i := range chips {
		chips[i].Text, chips[i].Told = "", true
	}
}

// top names the metrics that got worse; their figures are in the chip of the new build.
func (p gatePage) top() top {
	r := p.Comparison
	is, last := r.GateOutcome(), r.Arms[len(r.Arms)-1]
	class := map[outcome.Outcome]string{outcome.Yes: string(stats.Same), outcome.No: string(stats.Slower), outcome.Open: "open", outcome.Refused: "refused"}[is]
	chip := document.Chip{Line: classOf(r, last.Name), Name: last.Name, Mark: outcome.Gate.Phrase(is), Class: class}
	t := top{}
	t.answer, chip.Text, t.lead = gateInParts(r)
	chip.Told = chip.Text == ""
	if is == outcome.No {
		var worse []string
		for _, g := range r.Gate {
			if g.Outcome == outcome.No {
				worse = append(worse, g.Metric.Row().Label)
			}
		}
		if named := t.answer + ": " + strings.Join(worse, ", "); document.Words(named) <= document.ShortWords {
			t.answer = named
		}
	}
	// An overload refuses times, but it is an answer itself.
	if behind := doNotKeepUp(r); behind != "" && !is.Decided() {
		t.lead = append([]string{behind}, t.lead...)
	}
	t.answer, t.chips = t.answer+".", []document.Chip{chip}
	return t
}

func (p otherPage) top() (t top) {
	answer, chips := p.InShort()
	t.chips = chips
	t.answer, t.lead = document.Split(p.doubted()+answer, document.Anywhere)
	return t
}

// top takes the claims of the scenario, if the run decided one and it is short, or else the ranking of the arms.
func (p comparisonPage) top() top {
	r := p.Comparison
	if found := p.found(); found != ranking(r) {
		if answer, rest := document.Split(found, document.BetweenClauses); document.Words(answer) <= document.ShortWords {
			chips, axis := chipsOf(r)
			return top{answer: answer, chips: chips, axis: axis, lead: rest}
		}
		t := p.ranked()
		t.lead = append([]string{strings.TrimSuffix(found, ".")}, t.lead...)
		return t
	}
	return p.ranked()
}

// ranked puts the ranking of the arms into few words. The figures of each arm are in its chip.
func (p comparisonPage) ranked() (t top) {
	r := p.Comparison
	t.chips, t.axis = chipsOf(r)
	if len(r.Answer.Standings) == 0 || !r.Answer.Says.None() || r.Answer.Outcome == "" || r.Answer.Outcome == outcome.Refused && r.Answer.Kind == "" {
		tell(t.chips) // the answer has why there is none
		t.answer, t.lead = document.Split(ranking(r), document.Anywhere)
		return t
	}
	var hasNames bool
	t.answer, t.lead, hasNames = inFewWords(r)
	for i, c := range t.chips {
		t.chips[i].Told = hasNames && c.Text == ""
	}
	for _, line := range slices.Concat([]string{doubtedRanking(r)}, duels(r), starving(r), []string{otherCPUs(r)}) {
		if line = strings.TrimSuffix(strings.TrimSpace(line), "."); line != "" {
			t.lead = append(t.lead, line)
		}
	}
	return t
}

// chipsOf returns a chip for each challenger: where it stands, the interval of the time that tells most, and the rest of its clause
// in the headline. axis is the head of the bars.
func chipsOf(r *record.Comparison) (chips []document.Chip, axis string) {
	told := map[string]record.Verdict{}
	var drawn []record.Verdict
	for _, s := range r.Answer.Standings {
		if v := telling(r, s); v.Low > 0 {
			told[s.Arm], drawn = v, append(drawn, v)
		}
	}
	x := ratioAxis(drawn, barWidth-1, 0)
	for _, s := range r.Answer.Standings {
		is := placeWords[s.Place]
		chip := document.Chip{Line: classOf(r, s.Arm), Name: s.Arm, Mark: is.mark, Class: is.class, Text: standing(r, s, r.Verdicts).detail}
		if s.Baseline != r.Arms[0].Name {
			chip.Name += " against " + s.Baseline
		}
		if v, is := told[s.Arm]; is {
			chip.Bar = fmt.Sprintf("%-*s %s", labelWidth, v.Metric.Row().Label, bar(x, v))
		} else if len(drawn) > 0 {
			chip.Bar = strings.Repeat(" ", labelWidth+1+barWidth)
		}
		chips = append(chips, chip)
	}
	if len(drawn) > 0 {
		axis = strings.Repeat(" ", labelWidth+1) + barHead(x)
	}
	return chips, axis
}

// Columns of a bar in a text, and of the label in front.
const (
	barWidth   = 25
	labelWidth = 3 // of p99
)

// telling returns the verdict on a time that tells most about where an arm stands: of those with the rank of its place, or with
// any rank for a trade, the one with the largest change, else the highest quantile that has an interval.
func telling(r *record.Comparison, s record.Standing) (best record.Verdict) {
	size := func(v record.Verdict) float64 { return max(v.Ratio, 1/v.Ratio) }
	shows := func(v record.Verdict) bool {
		return differs(v) && (v.Verdict.Rank == s.Place.Rank || s.Place.Rank == stats.Trade)
	}
	for _, v := range r.Verdicts {
		if v.Arm != s.Arm || v.Baseline != s.Baseline || !v.Primary || v.Low <= 0 || v.Ratio <= 0 {
			continue
		}
		ranked, was := shows(v), shows(best)
		if best.Arm == "" || ranked && (!was || size(v) > size(best)) || !was && !ranked {
			best = v
		}
	}
	return best
}

// bar draws the interval of a ratio with characters: ├──●──┤, and a ┊ where the ratio is 1.
func bar(x chart.Axis, v record.Verdict) string {
	row := []rune(strings.Repeat(" ", barWidth))
	at := func(ratio float64) int { return int(math.Round(float64(x.At(ratio)))) }
	row[at(1)] = '┊'
	low, high := at(v.Low), at(v.High)
	for i := low; i <= high; i++ {
		row[i] = '─'
	}
	row[low], row[high] = '├', '┤'
	row[at(v.Ratio)] = '●'
	return string(row)
}

// barHead returns the head of bars: on which side of the ┊ an arm is faster.
func barHead(x chart.Axis) string {
	one := int(math.Round(float64(x.At(1))))
	left, right := "faster ", " slower"
	if one < len(left) {
		left = ""
	}
	if one+1+len(right) > barWidth {
		right = ""
	}
	return strings.Repeat(" ", one-len(left)) + left + "┊" + right
}

// classOf returns the class of an arm's line in charts.
func classOf(r *record.Comparison, arm string) string {
	for _, s := range chart.SeriesOf(r.Contestants()) {
		if s.Name == arm {
			return s.Class
		}
	}
	return ""
}

// inFewWords returns where the challengers stand, in the first of these forms that has few words: with the kind of answer in front,
// without it, both with numbers of arms instead of names, and the kind alone. left is what else the kind of answer tells. hasNames reports
// whether the answer names the arms.
func inFewWords(r *record.Comparison) (answer string, left []string, hasNames bool) {
	fits := func(answer string) bool { return document.Words(answer) <= document.ShortWords }
	for _, named := range []bool{true, false} {
		front, where := kindInFront(r, named), placed(r, named)
		switch whole := front + ": " + where; {
		case front != "" && fits(whole):
			return whole + ".", nil, named
		case fits(where):
			return where + ".", kindBelow(r), named
		}
	}
	if r.Answer.Kind == record.SeveralWin {
		return fmt.Sprintf("%s beat %s, and which is best is open.", prose.Plural(len(r.Answer.Faster), "arm"), r.Arms[0].Name), nil, false
	}
	return lead(r) + ".", nil, false
}

// kindInFront returns the words for the kind of an answer that where the arms stand does not tell; "" for none. With named false,
// the arms are counted.
func kindInFront(r *record.Comparison, named bool) string {
	faster := 0
	for _, s := range r.Answer.Standings {
		faster += stats.Count(placeWords[s.Place].class == string(stats.Faster))
	}
	wins := r.Answer.Kind == record.OneWins && r.Winner.Arm != r.Arms[0].Name && (faster > 1 || !named)
	if wins || r.Answer.Kind == record.OtherLoads || otherParser(r, r.Winner.Arm) != "" {
		return lead(r)
	}
	return ""
}

// kindBelow returns what the kind of an answer tells more than where the arms stand, as a line; nil for none.
func kindBelow(r *record.Comparison) []string {
	if r.Answer.Kind == record.SeveralWin {
		return []string{"It is open which of " + strings.Join(r.Answer.Faster, " and ") + " is best"}
	}
	if front := kindInFront(r, true); front != "" {
		return []string{front}
	}
	return nil
}

// placed groups the challengers by where they stand: "fasthttp is the same as nethttp; pool is slower". Only the first group names its
// baseline, if all have the same. With named false it counts the arms: "2 arms are slower than nethttp".
func placed(r *record.Comparison, named bool) string {
	first := r.Answer.Standings[0].Baseline
	against := slices.ContainsFunc(r.Answer.Standings, func(s record.Standing) bool { return s.Baseline != first })
	groups := grouped(r.Answer.Standings, func(s record.Standing) record.Place { return s.Place })
	var clauses []string
	for _, group := range groups {
		var arms []string
		for _, s := range group {
			arms = append(arms, s.Arm)
		}
		who := strings.Join(arms, " and ")
		if !named {
			who = prose.Plural(len(arms), "arm")
		}
		// If nothing is decided, the sentence is about the question and not about the arms.
		if len(groups) == 1 && !against && group[0].Place == (record.Place{Outcome: outcome.Open}) {
			differs := "differs"
			if len(arms) > 1 {
				differs = "differ"
			}
			return fmt.Sprintf("Whether %s %s from %s is open", who, differs, first)
		}
		is := placeWords[group[0].Place]
		text := is.one
		if len(arms) > 1 {
			text = is.many
		}
		if len(clauses) == 0 && is.joined != "" && !against {
			text += is.joined + first
		}
		clauses = append(clauses, who+" "+text)
	}
	return strings.Join(clauses, "; ")
}

// placeWords are the words for where an arm stands.
var placeWords = map[record.Place]struct {
	mark, class string // of its chip: the word, and the CSS class of the word's colour
	one, many   string // what one arm is or does, and several
	joined      string // to the name of the baseline; "" if the words need no baseline
}{
	record.Placed(stats.Faster):                            {string(stats.Faster), string(stats.Faster), "is faster", "are faster", " than "},
	record.Placed(stats.Slower):                            {string(stats.Slower), string(stats.Slower), "is slower", "are slower", " than "},
	record.Placed(stats.Same):                              {string(stats.Same), string(stats.Same), "is the same", "are the same", " as "},
	record.Placed(stats.Higher):                            {"keeps up better", string(stats.Faster), "keeps up better", "keep up better", " than "},
	record.Placed(stats.Lower):                             {"falls behind", string(stats.Slower), "does not keep up", "do not keep up", " with "},
	record.Placed(stats.Trade):                             {"trade", "open", "is both better and worse", "are both better and worse", " than "},
	{Outcome: outcome.Open, Rank: stats.Same}:              {"same so far", "open", "is so far the same", "are so far the same", " as "},
	{Outcome: outcome.Open}:                                {"open", "open", "is open", "are open", " against "},
	{Outcome: outcome.Refused, Why: record.StarvesClients}: {"starves", "refused", "starves connections", "starve connections", ""},
	{Outcome: outcome.Refused, Why: record.NoTimesBeside}:  {"refused", "refused", "is not comparable", "are not comparable", " with "},
	{Outcome: outcome.Refused, Why: record.OtherLoad}:      {"refused", "refused", "is not comparable", "are not comparable", " with "},
}

// An overviewTable is the figures of the first screen of a page: a row for each arm. X is the axis of all ratios.
type overviewTable struct {
	X     chart.Axis
	Heads []overviewHead
	Rows  []overviewRow
}

// An overviewHead is the label of a metric. Drawn reports whether an interval stands below it.
type overviewHead struct {
	Label string
	Drawn bool
}

// An overviewRow is an arm with its cells, one for each metric.
type overviewRow struct {
	chart.Series
	Cells []overviewCell
}

// An overviewCell is a figure, the mark of its verdict, and the verdict as a row of the forest.
type overviewCell struct {
	Figure, Mark string
	forestRow
}

// Sizes of the drawings in the overview, in px.
const (
	overviewWidth  = 132
	overviewMargin = 20
)

// overview is the first screen's part of a page: the figures of the arms with the marks of their verdicts, each with the interval of
// its ratio below. Below it stands the same legend as in a terminal.
func overview(r *record.Comparison) document.Part {
	if !anyFigure(r) {
		return document.Page{}
	}
	arms, others := shownBriefly(r)
	t := overviewTable{X: ratioAxis(r.Verdicts, overviewWidth, overviewMargin)}
	for _, a := range arms {
		t.Rows = append(t.Rows, overviewRow{Series: chart.Series{Name: a.Name, Class: classOf(r, a.Name)}})
	}
	used, anyDrawn := map[string]bool{}, false
	for _, m := range stats.Metrics() {
		head := overviewHead{Label: m.Label}
		figures, marks := cells(m, arms), marksOf(r, m, arms, used)
		for i, a := range arms {
			cell := overviewCell{Figure: figures[i], Mark: marks[i]}
			if v := verdictOn(r.Verdicts, a.Name, m.Figure); v.Arm != "" {
				cell.forestRow = forestRowOf(r, v)
			}
			head.Drawn = head.Drawn || cell.Drawn
			t.Rows[i].Cells = append(t.Rows[i].Cells, cell)
		}
		t.Heads, anyDrawn = append(t.Heads, head), anyDrawn || head.Drawn
	}
	lines := append(belowFigures(r, arms, used), others...)
	if anyDrawn {
		lines = append(lines, "The line below a figure is the 95"+say.NBSP+"% interval of its ratio to the baseline, the dot the median; the band is where arms count as the same.")
	}
	return document.Page{document.Charts{{Picture: draw("overview", t)}}, lines}
}
