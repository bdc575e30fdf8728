package session

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"net"
	"net/url"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"schedlab/internal/measuring/arrivals"
	"schedlab/internal/measuring/expect"
	"schedlab/internal/measuring/scenario"
	"schedlab/internal/shared/record"
)

// A question is a scenario with the arms that were asked for, by the name that the request has for it. The name is ""
// if the request describes the scenario itself.
type question struct {
	scenario.Scenario
	name string
}

// check refuses what a comparison, a gate or a search cannot mean: an arm without a name, as in --arms a,,b, and two
// settings that say the same. It puts divided arms together again.
func (c *conduct) check() error {
	chosen := c.Arms != nil
	c.Arms = JoinArms(c.Arms)
	if chosen && (len(c.Arms) == 0 || slices.Contains(c.Arms, "")) {
		return usageOf("arms", "--arms %q has an arm without a name; name modes or arms of the scenario, or leave it out", strings.Join(c.Arms, ","))
	}
	if err := checkWaitIdle(c.WaitIdle, c.o.Site != nil); err != nil {
		return err
	}
	if err := c.checkVary(); err != nil {
		return err
	}
	return c.Adhoc.check(c.Scenarios)
}

// JoinArms returns the arms in a list that was divided at every comma: a setting belongs to the mode
// before it, so pool,workers=8,nethttp are two arms.
func JoinArms(items []string) (arms []string) {
	for _, item := range items {
		name, value, named := strings.Cut(item, "=")
		setting := named && !strings.Contains(name, ",") && !strings.Contains(value, "{") && !strings.Contains(value, "://")
		if setting && len(arms) > 0 {
			arms[len(arms)-1] += "," + item
			continue
		}
		arms = append(arms, item)
	}
	return arms
}

// given returns the value of a factor that the request itself has, "" if it has none.
func (q *Question) given(factor string) string {
	switch factor {
	case "rate":
		return q.Rate.String()
	case "stamps":
		return q.Stamps
	}
	return ""
}

// checkVary refuses a factor that the request sets as well: the two cannot both hold, and neither is more right. A
// value in the scenario gives way to it.
func (c *conduct) checkVary() error {
	varied := map[string]bool{}
	for _, text := range c.Vary {
		factor, _, _ := strings.Cut(text, "=")
		if factor == "keepalive" && c.Close {
			return usageOf("vary", "--close and --vary %s both say keepalive; drop one", text)
		}
		if varied[factor] {
			return usageOf("vary", "--vary has %s twice; give all its values in one", factor)
		}
		varied[factor] = true
		if value := c.given(factor); value != "" {
			return usageOf("vary", "--%s %s and --vary %s both say %s; drop one", factor, value, text, factor)
		}
		// An arm may set a flag itself, as pool,workers=8 does. An arm that cannot be parsed is told by withArms.
		for _, given := range slices.Concat(c.Added, c.Arms) {
			if a, err := scenario.ParseArm(given); err == nil && a.Sets(factor) {
				return usageOf("vary", "arm %q and --vary %s both say %s; drop one", given, text, factor)
			}
		}
	}
	return nil
}

// questions reads the scenarios of a request. Two of one name are refused, because records and reports know a scenario
// by its name. Errors are wrong usage.
func (c *conduct) questions() (all []question, err error) {
	names, err := Scenarios.Expand(c.Scenarios)
	if err != nil {
		return nil, Usage(err)
	}
	if c.Adhoc.given() {
		names = []string{""} // the request's own
	}
	for _, name := range names {
		s, err := c.read(name)
		if err != nil {
			return nil, err
		}
		// The same scenario twice is a slip; two of one name need other names.
		if i := slices.IndexFunc(all, func(q question) bool { return q.Name == s.Name }); i >= 0 {
			if filepath.Clean(all[i].name) == filepath.Clean(name) {
				return nil, Usagef("scenario %q is named twice; drop one", name)
			}
			return nil, Usagef("scenarios %q and %q are both called %s; give each a name of its own", all[i].name, name, s.Name)
		}
		if s, err = c.withArms(s); err != nil {
			return nil, about(name, len(names), err)
		}
		all = append(all, question{s, name})
	}
	return all, nil
}

// about says which scenario an error is about, where there are several.
func about(name string, several int, err error) error {
	if several < 2 {
		return err
	}
	return fmt.Errorf("scenario %q: %w", name, err)
}

// read returns the named scenario, or the one that the request describes. Its arms are still the scenario's own.
func (c *conduct) read(name string) (scenario.Scenario, error) {
	switch {
	case c.Workload != "":
		return c.costs(name)
	case c.Adhoc.given() && c.builds != nil:
		return c.Adhoc.scenario(isItWorse, false)
	case c.Adhoc.given():
		return c.Adhoc.scenario(whichIsBest, !slices.ContainsFunc(c.Added, func(text string) bool {
			a, err := scenario.ParseArm(text)
			return err != nil || a.Mode == ""
		}))
	}
	return Find(name)
}

// costs returns the scenario of --workload. Without arms in the request it has those of the scenario that is taken by
// default; only servers of this program do as they are asked.
func (c *conduct) costs(name string) (scenario.Scenario, error) {
	sets := len(c.grid) > 0 // whether something else than the scenario sets the connections
	for _, text := range c.Vary {
		sets = sets || strings.HasPrefix(text, "connections=") || strings.HasPrefix(text, "keepalive=")
	}
	for _, text := range slices.Concat(c.Arms, c.Added) {
		a, err := scenario.ParseArm(text)
		sets = sets || err == nil && (a.Sets("connections") || a.Sets("keepalive"))
		if err == nil && a.Mode == "" {
			return scenario.Scenario{}, usageOf("arms", "arm %q is another program, and --workload is what schedlab's own servers spend on a request; ask it by --path or --targets", a.Name)
		}
	}
	s, err := c.Adhoc.scenario(whichIsBest, true)
	if err != nil {
		return s, err
	}
	// Little's law. Waits come on top, so the true limit is lower.
	held := s.Workload.MeanCPU() + s.Workload.MeanSleep()
	if busy := c.Rate.PerSecond * held.Seconds(); !c.Close && !sets && busy >= float64(s.Load.Connections) {
		return s, usageOf("rate", "%d kept connections carry %.0f/s at most, each with one request of %v under way, and --rate is %v; give --vary connections=%.0f, or --close for a connection for each request",
			s.Load.Connections, float64(s.Load.Connections)/held.Seconds(), held, c.Rate, math.Ceil(2*busy))
	}
	if len(c.Arms)+len(c.Added) > 0 {
		return s, nil
	}
	usual, err := Find(cmp.Or(name, DefaultScenario))
	s.Arms = usual.Arms
	return s, err
}

// withArms puts the arms of a request into a scenario, and then --close, --vary, --expect and --slo, which are about
// all arms. Errors name the flag.
func (c *conduct) withArms(s scenario.Scenario) (scenario.Scenario, error) {
	added := c.builds
	for _, text := range c.Added {
		a, err := scenario.ParseArm(text)
		if err != nil {
			return s, usageOf("arm", "--arm: %w", err)
		}
		a.Flag = "arm"
		added = append(added, a)
	}
	// Arms first: the settings below apply to the arms that are chosen.
	names := c.Arms
	if c.every {
		names = nil
	}
	if err := s.Select(names, added); err != nil {
		return s, usageOf("arms", "--arms: %w", err)
	}
	if c.every {
		c.withEveryMode(&s)
	}
	// A scenario's question is about its own arms.
	switch {
	case c.Adhoc.given():
	case c.every:
		s.Question += " (run with every mode that fits)"
	case len(names)+len(added) > 0:
		s.Question += " (run with " + strings.Join(s.ArmNames(), ", ") + ")"
	}
	// The scenario's own word on connections gives way.
	if c.Close {
		s.Keep(false)
	}
	for _, text := range c.Vary {
		factor, values, _ := strings.Cut(text, "=")
		if err := s.Vary(factor, scenario.SplitValues(values), c.Modes); err != nil {
			return s, usageOf("vary", "--vary: %w", err)
		}
	}
	// Records and reports know an arm by its name.
	for i, a := range s.Arms {
		if slices.ContainsFunc(s.Arms[:i], func(b scenario.Arm) bool { return b.Name == a.Name }) {
			return s, usageOf("arms", "arm %q is there twice; the scenario may have one: --arms %s chooses it, and one with other flags is called %s,FLAG=VALUE", a.Name, a.Name, a.Name)
		}
	}
	if ours := func(a scenario.Arm) bool { return a.Mode != "" }; c.Stamps != "" && !slices.ContainsFunc(s.Arms, ours) {
		return s, usageOf("stamps", "--stamps %s is for schedlab's own servers, and no arm is one; leave it out", c.Stamps)
	}
	return s, c.assert(&s)
}

// assert adds the expectations of a request to a scenario: those of --expect, and that each arm keeps --slo. Errors
// name the flag.
func (c *conduct) assert(s *scenario.Scenario) error {
	for _, e := range c.expect {
		if err := s.Assert(e); err != nil {
			return usageOf("expect", "--expect: %w", err)
		}
	}
	if c.keep == nil {
		return nil
	}
	for _, a := range s.Contestants() {
		when, err := expect.Keeps(c.keep, a.Name)
		if err != nil {
			return usageOf("slo", "--slo %s: %w", c.keep, err)
		}
		s.Claim(scenario.Claim{Says: expect.SaysKept(c.keep, a.Name), When: when})
	}
	return nil
}

// onGrid returns the cells of a grid in place of the scenario that --grid varies, or asked as it is without --grid.
// Errors are wrong usage.
func (c *conduct) onGrid(asked []question) ([]question, error) {
	if len(c.grid) == 0 {
		return asked, nil
	}
	var factors []scenario.Factor
	for _, text := range c.grid {
		factor, err := scenario.ParseFactor(text)
		if err != nil {
			return nil, usageOf("grid", "--grid: %w", err)
		}
		// Each cell would override the value.
		if c.given(factor.Name) != "" {
			return nil, usageOf("grid", "--%s has a value and --grid varies %s; drop one", factor.Name, factor.Name)
		}
		factors = append(factors, factor)
	}
	switch {
	case len(factors) > 2:
		return nil, usageOf("grid", "a grid has one or two factors, and --grid names %d; drop some", len(factors))
	case len(factors) == 2 && factors[0].Name == factors[1].Name:
		return nil, usageOf("grid", "--grid names %s twice; give all its values at once", factors[0].Name)
	case len(asked) > 1:
		return nil, usageOf("grid", "--grid varies one scenario, and these are %d; name one", len(asked))
	}
	cells, err := asked[0].Grid(factors, c.Modes)
	if err != nil {
		return nil, usageOf("grid", "--grid: %w", err)
	}
	asked = nil
	for _, cell := range cells {
		if err := c.assert(&cell); err != nil {
			return nil, err
		}
		asked = append(asked, question{cell, cell.Name + ", " + record.CellName(cell.Cell)})
	}
	return asked, nil
}

// given reports whether a request describes its own scenario.
func (a *Adhoc) given() bool { return *a != Adhoc{} }

// check refuses fields that do not go together, or with scenarios. The files are not read here.
func (a *Adhoc) check(scenarios []string) error {
	var sources []string
	for _, s := range [][2]string{{"path", a.Path}, {"targets", a.Targets}, {"log", a.Log}, {"workload", a.Workload}} {
		if s[1] != "" {
			sources = append(sources, s[0])
		}
	}
	switch {
	case len(sources) > 1:
		return usageOf(sources[0], "--%s each say what is asked; give one of them", strings.Join(sources, " and --"))
	case len(sources) > 0 && len(scenarios) > 0:
		return usageOf(sources[0], "scenario %q says what is asked, and --%s does too; drop one, or write it into a scenario of your own (path, targets, arrivals: log(FILE), cpu and sleep)", scenarios[0], sources[0])
	}
	_, _, err := SplitLog(a.Log)
	return err
}

// SplitLog divides a value of --log into the file and how many times as fast it is replayed, 0 where
// it does not say. An @ that no number follows belongs to the file's name.
func SplitLog(value string) (file string, speed float64, err error) {
	i := strings.LastIndex(value, "@")
	number, isFactor := strings.CutSuffix(value[i+1:], "x")
	speed, err = strconv.ParseFloat(number, 64)
	switch {
	case i < 0 || err != nil:
		return value, 0, nil
	case !isFactor || !(speed > 0):
		return "", 0, Usagef("--log %q: after the @ comes how many times as fast the log is replayed, like %s@10x", value, value[:i])
	}
	return value[:i], speed, nil
}

// Questions of a scenario without a file, about what is served.
const (
	whichIsBest = "Which of the arms serves %s best?"
	isItWorse   = "Is new worse than old at serving %s?" // of a gate, whose arms are called old and new
)

// scenario returns a scenario without arms that asks what the fields name, over kept connections at
// 0.7 of the slowest arm's throughput, or at the pace of a log. question is whichIsBest or isItWorse. own says that all arms
// will be servers of this program, which know /work. Errors are the user's to mend.
func (a *Adhoc) scenario(question string, own bool) (scenario.Scenario, error) {
	l := scenario.Load{KeepAlive: true, Rate: scenario.Rate{OfSlowest: .7}}
	name, asks := "path", fmt.Sprintf("%q", a.Path)
	switch {
	case a.Targets != "":
		name, asks = "targets", fmt.Sprintf("what %q asks", a.Targets)
	case a.Log != "":
		name = "log"
		// A log has its own pace.
		l.Rate = scenario.Rate{}
		file, speed, err := SplitLog(a.Log)
		if err != nil {
			return scenario.Scenario{}, err
		}
		asks = fmt.Sprintf("what was asked in %q", file)
		l.Arrivals = (arrivals.Process{Kind: arrivals.KindLog, File: file, Speed: speed}).String()
	}
	w, isWork := scenario.WorkOf(a.Path)
	if !own || !isWork {
		w = scenario.Workload{Path: a.Path, Targets: a.Targets}
	}
	if a.Workload != "" {
		var err error
		if w, err = scenario.ParseWork(a.Workload); err != nil {
			return scenario.Scenario{}, usageOf("workload", "--workload: %w", err)
		}
		name, asks = "workload", "requests of "+a.Workload
	}
	s, err := scenario.Ask(name, fmt.Sprintf(question, asks), w, l)
	if err != nil {
		return s, usageOf(name, "%w", err)
	}
	return s, nil
}

// OnLoopback refuses to send load to other machines by mistake. what names the flag or arm that has
// the address. Every address that the host name stands for must be on loopback. Errors are wrong
// usage.
func OnLoopback(ctx context.Context, what, address string) error {
	u, err := url.Parse(address)
	if err != nil {
		return Usagef("%s %q: %w", what, address, err)
	}
	if u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return Usagef("%s %q is not a URL like http://127.0.0.1:8080/plaintext or https://127.0.0.1:8443/", what, address)
	}
	addrs, err := net.DefaultResolver.LookupIPAddr(ctx, u.Hostname())
	if err != nil {
		return Usagef("%s %q: %w", what, address, err)
	}
	for _, a := range addrs {
		if !a.IP.IsLoopback() {
			return Usagef("%s %q is not on loopback (%s); if the server and the network are yours, say --allow-remote", what, address, a.IP)
		}
	}
	return nil
}

// stayLocal refuses arms with an address on another machine, their own or of their metrics.
func stayLocal(ctx context.Context, arms []scenario.Arm) error {
	for _, a := range arms {
		for _, address := range []string{a.URL, a.MetricsURL()} {
			if address != "" {
				if err := OnLoopback(ctx, fmt.Sprintf("arm %q:", a.Name), address); err != nil {
					return usageOf(a.Flag, "%w", err)
				}
			}
		}
	}
	return nil
}
