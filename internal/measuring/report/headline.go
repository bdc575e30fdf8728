package report

import (
	"fmt"
	"slices"
	"strings"

	"schedlab/internal/measuring/report/say"
	"schedlab/internal/shared/doubt"
	"schedlab/internal/shared/fact"
	"schedlab/internal/shared/outcome"
	"schedlab/internal/shared/prose"
	"schedlab/internal/shared/record"
	"schedlab/internal/shared/stats"
)

// Doubt returns a fact in one line, with the name of its arm and a colon in front if it is about one arm.
func Doubt(f fact.Fact) string {
	if f.Arm == "" {
		return f.String()
	}
	return f.Arm + ": " + f.String()
}

// Headline returns the answer of a run in one or a few sentences: what the run found or, if other programs kept it from an
// answer, that they did.
func Headline(r record.Result) string {
	if busy := say.TooBusy(doubt.TooBusy(r.Head().Doubts)); busy != "" {
		return busy
	}
	return pageOf(r).found()
}

// found returns the claims of the scenario if the run decided one, and else the ranking of its arms or the answer to the question
// that was asked instead. Claims that are kept come first, then the others in the order of outcome.All.
//
// This file puts record.Conclusion into words. It compares no figures to find a winner. lead begins the sentence by the kind of
// answer, and standing writes a clause for each challenger by its rank.
func (p comparisonPage) found() string {
	r := p.Comparison
	if !r.Answer.Says.None() || !slices.ContainsFunc(r.Expectations, func(e record.Expectation) bool { return e.Claim != "" && e.Outcome.Decided() }) {
		return ranking(r)
	}
	var claims []string
	for _, is := range outcome.All() {
		for _, e := range r.Expectations {
			switch {
			case e.Claim == "" || e.Outcome != is:
			case is == outcome.Yes: // without a word in front, since most readers look for these
				claims = append(claims, e.Claim+".")
			default:
				claims = append(claims, say.UpperFirst(outcome.Expectation.Phrase(is))+": "+e.Claim+".")
			}
		}
	}
	return strings.Join(claims, " ")
}

// ranking returns the verdicts on all arms in one sentence, after a doubt that undermines it.
func ranking(r *record.Comparison) string {
	return doubtedRanking(r) + answer(r)
}

// doubtedRanking returns a doubt that undermines the ranking; "" for none. If an arm was seen to starve connections, the ranking
// says so itself.
func doubtedRanking(r *record.Comparison) string {
	return doubted(r, func(d fact.Fact) bool { return doubt.StickyPool.Code.Is(d) && armOf(r, d.Arm).StarvedConnections == 0 })
}

// doubted returns a doubt that undermines the answer and so comes before it; "" for none. It is the doubt that the load
// generator is at its limit, or one for which untold returns true.
func doubted(r record.Result, untold func(fact.Fact) bool) string {
	for _, d := range r.Head().Doubts {
		if d.Code == doubt.GeneratorLimit.Code {
			return d.Arm + ": " + d.String() + ". "
		}
		if untold(d) {
			return d.Arm + " " + d.String() + ". "
		}
	}
	return ""
}

// answer returns the ranking without a doubt in front. It mentions starved connections itself.
func answer(r *record.Comparison) string {
	switch a := r.Answer; {
	case !a.Says.None():
		return a.Says.String() + "."
	case a.Outcome == "": // a run that compared nothing
		return r.Headline
	case a.Outcome == outcome.Refused && a.Kind == "":
		return noVerdict(r)
	}
	return lead(r) + ": " + standings(r)
}

// lead returns the words of an answer in front of the standings, by its kind.
func lead(r *record.Comparison) string {
	switch r.Answer.Kind {
	case record.SeveralWin:
		return fmt.Sprintf("%s each beat %s, and which of them is best is open", strings.Join(r.Answer.Faster, " and "), r.Arms[0].Name)
	case record.OtherLoads:
		return "Not ranked, because the arms ran at different loads"
	case record.OneWins:
		return r.Winner.String() + " wins" + otherParser(r, r.Winner.Arm)
	case record.ATrade:
		return "A trade"
	case record.ATie:
		return "A tie"
	case record.TieForBest:
		return "A tie for the best"
	}
	return "No single winner"
}

// otherParser returns a clause that an arm's HTTP parser is not the baseline's; "" if the parsers are the same, or if another arm
// tells the effects of parser and model apart.
func otherParser(r *record.Comparison, arm string) string {
	i := slices.IndexFunc(r.Doubts, doubt.ParsersDiffer.Code.Is)
	if i < 0 {
		return ""
	}
	differ, _ := fact.In(doubt.ParsersDiffer, r.Doubts[i])
	if differ.Control == "" || !slices.Contains(differ.Other, arm) {
		return ""
	}
	return fmt.Sprintf(", or its HTTP parser does, which is not %s's", r.Arms[0].Name)
}

// noVerdict returns the headline of a run without a verdict. It always names starved connections, because no figure shows them.
func noVerdict(r *record.Comparison) string {
	starving := starving(r)
	// A backlog that grew in every block is an answer that needs no verdict.
	if behind := doNotKeepUp(r); behind != "" {
		return strings.Join(append([]string{behind}, starving...), "; ") + "."
	}
	// If starvation is the reason, the sentence gives it once.
	if starving != nil && r.Answer.Reason.RestsOn(doubt.Starvation.Code) {
		return "No verdict: " + strings.Join(starving, "; ") + "; these waits are in no response time."
	}
	return "No verdict: " + strings.Join(append([]string{r.Answer.Reason.String()}, starving...), "; ") + "."
}

// behindInAll returns a clause about an arm if its backlog grew in every block so far; "" if it did not. v is the verdict on the
// arm's goodput. The clause compares the arm with its baseline if the baseline keeps up.
func behindInAll(r *record.Comparison, v record.Verdict) string {
	switch {
	case !armOf(r, v.Arm).Behind:
		return ""
	case armOf(r, v.Baseline).Behind:
		return v.Arm + " does not keep up: its backlog " + grew(r, v.Arm)
	}
	return fallsBehind(r, v) + ": its backlog " + grew(r, v.Arm)
}

// grew tells that the backlog of some arms grew in every block so far, and what other programs may have to do with it.
func grew(r *record.Comparison, arms ...string) string {
	text := "grew to the end of the window in every block"
	if r.Valid > 1 {
		text = fmt.Sprintf("grew to the end of the window in all %d blocks", r.Valid)
	}
	return text + besideOthers(r, arms)
}

// besideOthers returns a clause about the CPU time that other programs took while these arms were overloaded; "" if they took little.
func besideOthers(r *record.Comparison, arms []string) string {
	most := 0.
	for _, d := range r.Doubts {
		if of, is := fact.In(doubt.Overloaded, d); is && slices.Contains(arms, d.Arm) {
			most = max(most, of.Others)
		}
	}
	if most == 0 {
		return ""
	}
	return fmt.Sprintf(", while other programs took %.0f %% of the servers' CPU: which of them is the cause cannot be told", 100*most)
}

// doNotKeepUp returns a clause about the arms that do not keep up in any block so far; "" for none.
func doNotKeepUp(r *record.Comparison) string {
	var behind []string
	for _, a := range choices(r.Arms) {
		if a.Behind {
			behind = append(behind, a.Name)
		}
	}
	switch n := len(behind); {
	case n == 0:
		return ""
	case n == 1:
		if v := verdictOn(r.Verdicts, behind[0], stats.Goodput); v.Arm != "" {
			return behindInAll(r, v)
		}
		return behind[0] + " does not keep up: its backlog " + grew(r, behind...) // the baseline
	case n > 4: // too many for the words of a short answer
		return fmt.Sprintf("%d arms do not keep up (%s): their backlog ", n, strings.Join(behind, ", ")) + grew(r, behind...)
	}
	return strings.Join(behind, " and ") + " do not keep up: their backlog " + grew(r, behind...)
}

// shortfall returns the change of goodput, with the share of requests that got no good reply. If that share is small and the arm
// is slower, it gives the p50 of both arms instead. The p50 of a growing backlog depends on the length of the window, but it
// shows how far behind the arm is.
func shortfall(r *record.Comparison, v record.Verdict) string {
	const least = .01 // below this ratio, requests without a good reply are not mentioned
	text := "goodput " + changedPlainly(r, v)
	base, arm := armOf(r, v.Baseline), armOf(r, v.Arm)
	failed := float64(arm.Errors) / float64(max(arm.Requests, 1))
	switch {
	case failed >= least:
		return fmt.Sprintf("%s, no good reply to %.0f %% of its requests", text, 100*failed)
	case base.P50 == nil || arm.P50 == nil || *arm.P50 <= *base.P50:
		return text
	}
	return fmt.Sprintf("%s, p50 %s and growing against %s", text, prose.Seconds(*arm.P50), prose.Seconds(*base.P50))
}

// armOf returns the arm with a name, or an arm without figures if there is none.
func armOf(r *record.Comparison, name string) record.Arm {
	for _, a := range r.Arms {
		if a.Name == name {
			return a
		}
	}
	return record.Arm{}
}

// shownBy tells how many blocks agree and how many would decide. It returns "9 of 9 blocks show it; 1 more would decide" for
// verdicts that are the same in every block, and otherwise "about 12 blocks would decide p50"; "" if no number of blocks would.
// If other programs took much CPU time, it does not tell which number would decide. vs must not be empty.
func shownBy(r *record.Comparison, vs []record.Verdict) string {
	v := vs[0]
	differ := func(of record.Verdict) bool { return max(of.Won, of.Lost) < of.Blocks || of.Needed != v.Needed }
	// Verdicts that agree in every block need the same number of blocks, so one clause is enough.
	if !slices.ContainsFunc(vs, differ) && v.Needed > v.Blocks && v.Needed <= mostBlocks {
		text := fmt.Sprintf("%d of %s show it", v.Blocks, prose.Plural(v.Blocks, "block"))
		if !slices.ContainsFunc(r.Doubts, doubt.MachineBusy.Code.Is) {
			text += fmt.Sprintf("; %d more would decide", v.Needed-v.Blocks)
		}
		return text
	}
	if slices.ContainsFunc(r.Doubts, doubt.MachineBusy.Code.Is) {
		return ""
	}
	possible := slices.DeleteFunc(slices.Clone(vs), func(v record.Verdict) bool { return v.Needed <= 0 || v.Needed > mostBlocks })
	var parts []string
	for _, group := range grouped(possible, func(v record.Verdict) int { return v.Needed }) {
		parts = append(parts, fmt.Sprintf("about %s would decide %s", prose.Plural(group[0].Needed, "block"), metrics(group)))
	}
	return strings.Join(parts, ", ")
}

// metrics returns the names of the verdicts' metrics with commas between.
func metrics(vs []record.Verdict) string {
	names := make([]string, len(vs))
	for i, v := range vs {
		names[i] = v.Metric.String()
	}
	return strings.Join(names, ", ")
}

// standings returns a clause for each challenger against the baseline, then one for each duel of two challengers, then one for
// each arm that starved connections, and a sentence about arms that may run on other CPUs than the rest.
func standings(r *record.Comparison) string {
	var first []string
	then := duels(r)
	for _, s := range r.Answer.Standings {
		first = append(first, standing(r, s, r.Verdicts).text)
	}
	// If several beat the baseline, the reader waits for their duels, so these come first.
	if r.Answer.Kind == record.SeveralWin {
		first, then = then, first
	}
	return strings.Join(slices.Concat(first, then, starving(r)), "; ") + "." + otherCPUs(r)
}

// duels returns a clause for each duel of two challengers.
func duels(r *record.Comparison) (clauses []string) {
	for _, d := range r.Answer.Duels {
		clauses = append(clauses, standing(r, d.Standing, d.Verdicts).text)
	}
	return clauses
}

// otherCPUs returns a sentence about the arms that may run on other CPUs than the servers started here, because a win may be due
// to the CPUs; "" for none.
func otherCPUs(r *record.Comparison) string {
	var arms []string
	for _, a := range choices(r.Arms) {
		if a.CPUs != "" {
			arms = append(arms, fmt.Sprintf("%s may run on CPUs %s", a.Name, a.CPUs))
		}
	}
	if len(arms) == 0 || r.Env.ServerCPUs == "" {
		return ""
	}
	return fmt.Sprintf(" Not on equal CPUs: %s; servers started here have %s.", strings.Join(arms, ", "), r.Env.ServerCPUs)
}

// starving returns a clause for each arm that starved connections and has no standing that mentions it.
func starving(r *record.Comparison) (clauses []string) {
	for _, name := range r.Answer.Starving {
		clauses = append(clauses, name+" "+starvedBy(r, name))
	}
	return clauses
}

// starvedBy returns how many connections an arm starved, and of how many if that is known: "starved 3 of 16 connections". If the
// windows were too short to call them starved, it says "has given no answer yet to".
func starvedBy(r *record.Comparison, name string) string {
	a := armOf(r, name)
	if a.Fairness == nil {
		return "starved " + prose.Plural(a.StarvedConnections, "connection")
	}
	text := "starved"
	if a.Fairness.Short {
		text = "has given no answer yet to"
	}
	text += fmt.Sprintf(" %d of %s", a.StarvedConnections, prose.Plural(a.Fairness.Asked, "connection"))
	if blocks := len(a.Blocks[stats.Goodput]); a.StarvedBlocks > 0 && a.StarvedBlocks < blocks {
		text += fmt.Sprintf(" in %d of %d blocks", a.StarvedBlocks, blocks)
	}
	return text
}

// A clause tells where a challenger stands against another arm.
type clause struct {
	text   string // the whole clause, with both names
	detail string // what follows the two names and the word of the rank: figures, or why there are none
}

// standing returns the clause about a challenger by its rank, with the verdicts that decided. verdicts must hold this arm's
// verdicts against s.Baseline, and none of this arm against another one.
func standing(r *record.Comparison, s record.Standing, verdicts []record.Verdict) clause {
	goodput := verdictOn(verdicts, s.Arm, stats.Goodput)
	// more joins the details of clauses that begin with ", and ".
	more := func(clauses ...string) string { return strings.TrimPrefix(strings.Join(clauses, ""), ", and ") }
	is := func(p record.Place, detail string) clause {
		words := placeWords[p]
		return clause{fmt.Sprintf("%s %s%s%s (%s)", s.Arm, words.one, words.joined, s.Baseline, detail), detail}
	}
	switch s.Place {
	case record.Place{Outcome: outcome.Refused, Why: record.OtherLoad}:
		// Only work done and its cost can be compared where response times follow other loads.
		done := fmt.Sprintf("%s, and response times follow the load (%s)", workDone(r, s.Arm), strings.Join(s.Differs, ", "))
		return clause{fmt.Sprintf("%s against %s: %s", s.Arm, s.Baseline, done), done}
	case record.Place{Outcome: outcome.Refused, Why: record.StarvesClients}:
		starved := fmt.Sprintf("%s, so its times cannot be compared with %s", starvedBy(r, s.Arm), s.Baseline)
		return clause{s.Arm + " " + starved, starved}
	case record.Place{Outcome: outcome.Refused, Why: record.NoTimesBeside}:
		return clause{fmt.Sprintf("the times of %s cannot be compared with %s, which starved connections", s.Arm, s.Baseline),
			fmt.Sprintf("its times cannot be compared with %s, which starved connections", s.Baseline)}
	case record.Placed(stats.Higher):
		return is(s.Place, "goodput "+changedPlainly(r, goodput))
	case record.Placed(stats.Lower):
		return is(s.Place, shortfall(r, goodput))
	case record.Placed(stats.Trade):
		trade := trades(r, s, verdicts)
		return clause{fmt.Sprintf("%s trades with %s: %s", s.Arm, s.Baseline, trade), trade}
	case record.Placed(stats.Faster), record.Placed(stats.Slower):
		if s.Place.Rank == stats.Slower && goodput.Worse() && !armOf(r, s.Arm).Clients.Closed() && !armOf(r, s.Baseline).Clients.Closed() {
			return is(record.Placed(stats.Lower), shortfall(r, goodput))
		}
		c := is(s.Place, changes(r, onTimes(verdicts, s.Arm, s.Place.Rank)))
		return clause{c.text + onAverage(r, s), c.detail + onAverage(r, s)}
	case record.Placed(stats.Same):
		too := []string{andGoodput(r, goodput), andCPU(r, verdictOn(verdicts, s.Arm, stats.CPUPerRequest)), onAverage(r, s)}
		return clause{fmt.Sprintf("%s is the same as %s", s.Arm, s.Baseline) + strings.Join(too, ""), more(too...)}
	case record.Place{Outcome: outcome.Open, Rank: stats.Same}:
		parts := []string{"at " + metrics(onTimes(verdicts, s.Arm, stats.Same))}
		for _, of := range []outcome.Outcome{outcome.Open, outcome.Refused} {
			if left := slices.DeleteFunc(onTimes(verdicts, s.Arm, ""), func(v record.Verdict) bool { return v.Verdict.Outcome != of }); len(left) > 0 {
				parts = append(parts, fmt.Sprintf("%s at %s", of, metrics(left)))
			}
		}
		at := strings.Join(parts, ", ") + andGoodput(r, goodput) + onAverage(r, s)
		return clause{fmt.Sprintf("%s is the same as %s %s", s.Arm, s.Baseline, at), "the same " + at}
	}
	if behind := behindInAll(r, goodput); behind != "" {
		return clause{behind, strings.TrimPrefix(behind, s.Arm+" ")}
	}
	open := stillOpen(r, s, onTimes(verdicts, s.Arm, ""))
	too := andGoodput(r, goodput) + onAverage(r, s)
	return clause{open.text + too, open.detail + too}
}

// onTimes returns an arm's verdicts with this rank on the primary metrics, which are times. Open and refused verdicts have the
// rank "".
func onTimes(verdicts []record.Verdict, arm string, rank stats.Rank) (of []record.Verdict) {
	for _, v := range verdicts {
		if v.Arm == arm && v.Primary && v.Verdict.Rank == rank {
			of = append(of, v)
		}
	}
	return of
}

// workDone lists an arm's verdicts on metrics other than times.
func workDone(r *record.Comparison, arm string) string {
	var parts []string
	for _, v := range r.Verdicts {
		if v.Arm != arm || v.Primary {
			continue
		}
		text := strings.ReplaceAll(v.Metric.String(), "_", " ") + " " + v.Verdict.String()
		if v.Verdict.Outcome != outcome.Refused {
			text += " (" + changedPlainly(r, v) + ")"
		}
		parts = append(parts, text)
	}
	return strings.Join(parts, ", ")
}

// trades tells at which metrics a challenger is better and at which it is worse. It names goodput as the gain or
// the cost only if no time is.
func trades(r *record.Comparison, s record.Standing, verdicts []record.Verdict) string {
	goodput := verdictOn(verdicts, s.Arm, stats.Goodput)
	gains, costs := onTimes(verdicts, s.Arm, stats.Faster), onTimes(verdicts, s.Arm, stats.Slower)
	if gains == nil && goodput.Better() {
		gains = []record.Verdict{goodput}
	}
	if costs == nil && goodput.Worse() {
		costs = []record.Verdict{goodput}
	}
	return fmt.Sprintf("better at %s, worse at %s", changes(r, gains), changes(r, costs))
}

// andGoodput returns a clause about a sure difference of goodput; "" for none. It is for arms with times that do not tell them
// apart: in a closed loop even slightly shorter times can make a sure difference of goodput.
func andGoodput(r *record.Comparison, goodput record.Verdict) string {
	if !differs(goodput) {
		return ""
	}
	return ", and its goodput is " + changedPlainly(r, goodput)
}

// andCPU returns a clause about a sure difference of CPU time a request, for arms that are the same in their times; "" without one.
func andCPU(r *record.Comparison, cpu record.Verdict) string {
	if !differs(cpu) {
		return ""
	}
	return ", and its CPU/request is " + changedPlainly(r, cpu)
}

// onAverage returns a clause about a sure difference of the mean times, because ranks go by quantiles; "" if the rank says the
// same as the means, or if the means do not surely differ.
func onAverage(r *record.Comparison, s record.Standing) string {
	switch by := meanDifference(r, s.Baseline, s.Arm); {
	case by > 0 && s.Place.Rank != stats.Slower:
		return fmt.Sprintf(", and %s slower on average", prose.Seconds(by))
	case by < 0 && s.Place.Rank != stats.Faster:
		return fmt.Sprintf(", and %s faster on average", prose.Seconds(-by))
	}
	return ""
}

// meanDifference returns by how many seconds arm to is surely slower than arm from on average; 0 if the means do not surely
// differ. If the run found no difference, an attached explanation may have found a smaller one.
func meanDifference(r *record.Comparison, from, to string) float64 {
	i := slices.IndexFunc(r.Differences, func(d record.Difference) bool { return d.Arm == to && d.Baseline == from && !d.Tail })
	if i >= 0 && r.Differences[i].By != 0 {
		return r.Differences[i].By
	}
	if x := reasonOf(&r.Common); x != nil {
		return x.Between(from, to)
	}
	return 0
}

// fallsBehind returns a clause about an arm that has less goodput than another, by the verdict on goodput.
func fallsBehind(r *record.Comparison, v record.Verdict) string {
	return fmt.Sprintf("%s does not keep up with %s (%s)", v.Arm, v.Baseline, shortfall(r, v))
}

// stillOpen returns the clause about a challenger without a decision: the blocks so far, and which way they lean if all metrics lean the same
// way. If a third arm is the reason, such as an overloaded baseline without a usable A/A control, it names that arm.
func stillOpen(r *record.Comparison, s record.Standing, open []record.Verdict) clause {
	blocks := 0
	for _, v := range open {
		blocks = max(blocks, v.Blocks)
		third := v.Reason.Find(func(f fact.Fact) bool {
			return f.Arm != "" && f.Arm != s.Arm && f.Arm != s.Baseline && !armOf(r, f.Arm).IsCopy()
		})
		if v.Verdict.Outcome == outcome.Refused && third.Arm != "" {
			does := "whose backlog grows"
			if doubt.TooManyFailed.Code.Is(third) {
				does = "which fails requests"
			}
			with := fmt.Sprintf("cannot be judged in a run with %s, %s: compare them without it%s", third.Arm, does, flagsFor(r, s.Baseline, s.Arm))
			return clause{fmt.Sprintf("%s and %s %s", s.Arm, s.Baseline, with), with}
		}
	}
	after := fmt.Sprintf("after %s%s", prose.Plural(blocks, "block"), leaning(r, open))
	return clause{fmt.Sprintf("%s against %s is open %s", s.Arm, s.Baseline, after), after}
}

// leaning tells which way open verdicts lean; "" if they lean both ways, or none.
func leaning(r *record.Comparison, open []record.Verdict) string {
	leans := slices.DeleteFunc(slices.Clone(open), func(v record.Verdict) bool { return v.Lean == "" })
	if len(leans) == 0 || slices.ContainsFunc(leans, func(v record.Verdict) bool { return v.Lean != leans[0].Lean }) {
		return ""
	}
	text := fmt.Sprintf(" and leans %s (%s)", lower(leans[0].Lean), changes(r, leans))
	if shown := shownBy(r, leans); shown != "" {
		text += ": " + shown
	}
	return text
}

// flagsFor returns the flags, after a comma, for a comparison of these two arms alone, with windows long enough for the quantiles
// for which this run has too few requests; "" if an arm's name is not its mode with settings.
func flagsFor(r *record.Comparison, arms ...string) string {
	for _, name := range arms {
		if mode, _, _ := strings.Cut(name, ","); mode != armOf(r, name).Mode || strings.ContainsAny(name, " '\"") {
			return ""
		}
	}
	longest := 0.0
	for _, v := range r.Verdicts {
		few, _ := fact.In(doubt.FewRequests, v.Reason)
		if few.Longer != nil {
			longest = max(longest, few.Window)
		}
	}
	flags := fmt.Sprintf(", --arms %s --arm %s", arms[0], arms[1])
	if longest > 0 {
		flags += fmt.Sprintf(" --window %s", record.Duration(longest))
	}
	return flags
}

// verdictOn returns the verdict on an arm's metric; the zero Verdict if there is none.
func verdictOn(verdicts []record.Verdict, arm string, metric stats.Figure) record.Verdict {
	for _, v := range verdicts {
		if v.Arm == arm && v.Metric == metric {
			return v
		}
	}
	return record.Verdict{}
}

// changes lists verdicts as "p50 +12 %, p99 +30 %"; "" for none.
func changes(r *record.Comparison, vs []record.Verdict) string {
	parts := make([]string, len(vs))
	for i, v := range vs {
		parts[i] = v.Metric.String() + " " + changedPlainly(r, v)
	}
	return strings.Join(parts, ", ")
}
