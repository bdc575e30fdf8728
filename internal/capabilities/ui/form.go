package ui

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"schedlab/internal/capabilities/session"
	"schedlab/internal/measuring/scenario"
	"schedlab/internal/shared/cmdline"
)

// A Mode is a choice of the form, with a line about it.
type Mode struct{ Name, Summary string }

// A Scenario is a choice of the form.
type Scenario struct{ Name, Question string }

// A Group is scenarios about one subject.
type Group struct {
	Title     string
	Scenarios []Scenario
}

// A field is a field of the form that takes a text. It has the name of the flag of compare that it sets: mistakes are
// told by the flag ([session.FlagOf]), and the command line is made of the fields.
type field struct {
	Name, Label, Hint string
	More              bool                         // below "More settings"
	of                func(r *session.Compare) any // what it sets, a pointer of a kind that texts and set know
}

// fields returns the fields in their order. The form has the scenario and the modes besides.
func (c *Config) fields() []field {
	arm := "pool,workers=8"
	if c.AllowCommands {
		arm += ", name='./server -listen {addr}' or name=http://127.0.0.1:9000"
	}
	return []field{
		{"arms", "Arms in their order", "pool,nethttp: the baseline first, in place of the modes above", true, func(r *session.Compare) any { return (*commas)(&r.Arms) }},
		{"arm", "More arms", arm + "; one a line", false, func(r *session.Compare) any { return &r.Added }},
		{"vary", "Sweep", "workers=4,8,16: an arm for each value; one setting a line", false, func(r *session.Compare) any { return &r.Vary }},
		{"rate", "Rate", "2000/s, or 0.7x of the slowest arm", false, func(r *session.Compare) any { return &r.Rate }},
		{"window", "Window", "500ms: measured time of a trial", false, func(r *session.Compare) any { return &r.Window }},
		{"budget", "Longest time", "75s; it ends as soon as it knows", false, func(r *session.Compare) any { return &r.Budget }},
		{"workload", "What a request costs", "cpu=200us,sleep=exp(10ms), in place of a scenario", true, func(r *session.Compare) any { return &r.Workload }},
		{"path", "Path to ask for", "/plaintext, in place of a scenario", true, func(r *session.Compare) any { return &r.Path }},
		{"expect", "Expectations", `not slower("p99", "pool"); one a line`, true, func(r *session.Compare) any { return &r.Expect }},
		{"slo", "Objective of each arm", "p99<=10ms,errors<=0.1%", true, func(r *session.Compare) any { return &r.Keep }},
		{"seed", "Seed", "a number; that of an earlier run repeats its requests", true, func(r *session.Compare) any { return &r.Seed }},
		{"warmup", "Warm-up", "200ms: load before each window; a long one of commands mostly saturates them", true, func(r *session.Compare) any { return &r.Warmup }},
		{"blocks", "Most blocks", "10 to 40", true, func(r *session.Compare) any { return &r.Blocks }},
		{"note", "Note", "a remark to keep in the record", true, func(r *session.Compare) any { return &r.Note }},
		{"close", "Open a connection for each request", "", true, func(r *session.Compare) any { return &r.Close }},
	}
}

// commas is a list that is typed with commas.
type commas []string

// texts returns a value of a request as it is typed, a list one by one; none for the zero value.
func texts(value any) []string {
	text := ""
	switch v := value.(type) {
	case *[]string:
		return *v
	case *commas:
		text = strings.Join(*v, ",")
	case *string:
		text = *v
	case *bool:
		if *v {
			text = "true"
		}
	case *scenario.Rate:
		text = v.String()
	case **uint64:
		if *v != nil {
			text = strconv.FormatUint(**v, 10)
		}
	case *int:
		if *v != 0 {
			text = strconv.Itoa(*v)
		}
	case *time.Duration:
		if *v != 0 {
			text = v.String()
		}
	}
	if text != "" {
		return []string{text}
	}
	return nil
}

// set sets a value of a request to what was typed: the lines that are not empty, at least one.
func set(value any, typed []string) (err error) {
	text := typed[0]
	switch v := value.(type) {
	case *[]string:
		*v = typed
	case *commas:
		*v = strings.Split(text, ",")
	case *string:
		*v = text
	case *bool:
		*v = true
	case *scenario.Rate:
		return v.Set(text)
	case **uint64:
		n, err := strconv.ParseUint(text, 10, 64)
		if err != nil {
			return fmt.Errorf("%q is not a whole number; leave it empty for a random one", text)
		}
		*v = &n
	case *int:
		if *v, err = strconv.Atoi(text); err != nil || *v <= 0 {
			return fmt.Errorf("%q is not a whole number above 0", text)
		}
	case *time.Duration:
		if *v, err = time.ParseDuration(text); err != nil || *v <= 0 {
			return fmt.Errorf("%q is not a time like 10s or 250ms, above 0", text)
		}
	}
	return nil
}

// mistake is an error about the value of a flag.
func mistake(flag, format string, args ...any) error {
	return &session.Error{Code: session.Mistake, Err: fmt.Errorf(format, args...), Flag: flag}
}

// request makes the request of the form. It refuses what the form does not offer and, without AllowCommands, arms that
// are not schedlab's own servers. Everything else is checked when it is planned. A field that is empty leaves what Base has.
func (c *Config) request(form url.Values) (r session.Compare, err error) {
	r = c.Base
	if name := form.Get("scenario"); name != "" {
		if !c.has(name) {
			return r, mistake("scenario", "scenario %q is none of the list", name)
		}
		r.Scenarios = []string{name}
	}
	if form.Get("scenario")+form.Get("workload")+form.Get("path") == "" {
		return r, mistake("scenario", "choose one, or say below More settings what a request costs or which path it asks for")
	}
	if modes := form["mode"]; len(modes) > 0 {
		if form.Get("arms") != "" {
			return r, mistake("arms", "the modes %s are chosen above, too; drop one of both", strings.Join(modes, ","))
		}
		for _, name := range modes {
			a, err := scenario.Arm{Mode: name}.Renamed()
			if err != nil || !slices.ContainsFunc(c.Modes, func(m Mode) bool { return m.Name == a.Mode }) {
				return r, mistake("arms", "mode %q is none of the list", name)
			}
		}
		r.Arms = modes
	}
	for _, f := range c.fields() {
		var typed []string
		for line := range strings.Lines(form.Get(f.Name)) {
			if line = strings.TrimSpace(line); line != "" {
				typed = append(typed, line)
			}
		}
		if typed == nil {
			continue
		}
		if err := set(f.of(&r), typed); err != nil {
			return r, mistake(f.Name, "%w", err)
		}
	}
	if form.Get("arm") != "" {
		err = c.allowed("arm", r.Added)
	}
	if form.Get("arms") != "" && err == nil {
		err = c.allowed("arms", session.JoinArms(r.Arms))
	}
	for _, setting := range r.Vary {
		if form.Get("vary") != "" && err == nil && strings.HasPrefix(setting, "env.") && !c.AllowCommands {
			err = mistake("vary", "%q is a variable of the servers' environment; start schedlab ui with --allow-commands to allow those", setting)
		}
	}
	return r, err
}

// allowed refuses arms of a field that are not schedlab's own servers: as for a record of somebody else, a command, an
// address, or variables that can make a program do much. A text that is no arm may be the name of one.
func (c *Config) allowed(field string, arms []string) error {
	for _, text := range arms {
		a, err := scenario.ParseArm(text)
		if err == nil && (a.Mode == "" || len(a.Env) > 0) && !c.AllowCommands {
			return mistake(field, "%q is not one of schedlab's own servers alone; start schedlab ui with --allow-commands to allow commands, addresses and variables", text)
		}
	}
	return nil
}

// filled returns what the form has for a request, so that [Config.request] makes the same of it. rest are the flags of the
// request for which the form has no field.
func (c *Config) filled(r session.Compare) (form url.Values, rest []string) {
	form, r.Command = url.Values{"scenario": {""}}, "" // the line of a shell is made anew
	if len(r.Scenarios) == 1 && c.has(r.Scenarios[0]) {
		form["scenario"], r.Scenarios = r.Scenarios, nil
	}
	// Boxes have an order of their own, and the first arm is the baseline.
	if modes := c.inOrder(r.Arms); modes != nil {
		form["mode"], r.Arms = modes, nil
	}
	for _, f := range c.fields() {
		value := f.of(&r)
		if typed := texts(value); typed != nil {
			form.Set(f.Name, strings.Join(typed, "\n"))
		}
		reflect.ValueOf(value).Elem().SetZero()
	}
	if r.Scenarios != nil {
		rest = append(rest, strings.Join(r.Scenarios, " "))
	}
	r.Scenarios = nil
	var left map[string]any
	text, err := json.Marshal(r)
	if err == nil {
		err = json.Unmarshal(text, &left)
	}
	if err != nil {
		return form, append(rest, err.Error())
	}
	for _, name := range slices.Sorted(maps.Keys(left)) {
		rest = append(rest, "--"+strings.ReplaceAll(name, "_", "-"))
	}
	return form, rest
}

// has reports whether the form offers a scenario.
func (c *Config) has(name string) bool {
	return slices.ContainsFunc(c.Scenarios, func(g Group) bool {
		return slices.ContainsFunc(g.Scenarios, func(s Scenario) bool { return s.Name == name })
	})
}

// inOrder returns the modes if they are modes of the form in its order, else nil.
func (c *Config) inOrder(arms []string) (modes []string) {
	for _, m := range c.Modes {
		if len(modes) < len(arms) && arms[len(modes)] == m.Name {
			modes = append(modes, m.Name)
		}
	}
	if len(modes) < len(arms) {
		return nil
	}
	return modes
}

// typed is what somebody would type for a request of the form.
func (c *Config) typed(r session.Compare) string {
	words := append([]string{"schedlab", "compare"}, r.Scenarios...)
	for _, f := range c.fields() {
		for _, text := range texts(f.of(&r)) {
			words = append(words, "--"+f.Name+"="+text)
		}
	}
	return cmdline.Join(words)
}

// A form is what the first page shows of its form: what was typed, the mistake in it if there is one, and the plan.
type form struct {
	config *Config
	typed  url.Values
	// Problem is why it was refused, and wrong the flag of the field to change; "" for none.
	Problem, wrong string
	Plan           *session.Draft
	Again          string   // the run whose settings the form has; "" for none
	Rest           []string // flags of that run for which the form has no field
	Busy           bool     // the plan was made without a look at the machine, where a comparison is measured
}

// An input is a field as it is shown.
type input struct {
	Name, Label, Hint, Value string
	Kind                     string // line, lines or choice
	Wrong                    string // the mistake in it; "" for none
}

// Inputs returns the fields, either those that are seen at once or those below "More settings".
func (f form) Inputs(more bool) (all []input) {
	for _, field := range f.config.fields() {
		if field.More != more {
			continue
		}
		kind := "line"
		switch field.of(new(session.Compare)).(type) {
		case *[]string:
			kind = "lines"
		case *bool:
			kind = "choice"
		}
		all = append(all, input{field.Name, field.Label, field.Hint, f.typed.Get(field.Name), kind, f.Wrong(field.Name)})
	}
	return all
}

// field returns the name of the field that has the mistake, "" for none. Arms are either modes or a text.
func (f form) field() string {
	if f.wrong == "arms" && f.typed.Get("arms") == "" {
		return "mode"
	}
	return f.wrong
}

// Wrong returns the mistake in a field, "" for none.
func (f form) Wrong(name string) string {
	if name != f.field() {
		return ""
	}
	return f.Problem
}

// Field returns the label of the field that has the mistake, "" if the form has none for it.
func (f form) Field() string {
	wrong := f.field()
	switch wrong {
	case "scenario":
		return "Scenario"
	case "mode":
		return "Modes as arms"
	}
	for _, field := range f.config.fields() {
		if field.Name == wrong {
			return field.Label
		}
	}
	return ""
}

// Wanted reports whether the fields below "More settings" are shown: one has a value or a mistake.
func (f form) Wanted() bool {
	return slices.ContainsFunc(f.Inputs(true), func(in input) bool { return in.Value != "" || in.Wrong != "" })
}

// Chosen reports whether the form has this scenario or mode.
func (f form) Chosen(name, value string) bool { return slices.Contains(f.typed[name], value) }

// refused returns the form with the mistake that err tells.
func (f form) refused(err error) form {
	f.Problem, f.wrong = err.Error(), session.FlagOf(err)
	return f
}

// planned returns the form with the plan of what it asks, or with the mistake in it. Nothing looks at the machine while a
// comparison is measured there.
func (s *Server) planned(ctx context.Context, typed url.Values) form {
	f := form{config: &s.Config, typed: typed, Busy: s.busy()}
	r, err := s.request(typed)
	if err != nil {
		return f.refused(err)
	}
	draft, err := r.Draft(ctx, s.Program, !f.Busy)
	if err != nil {
		return f.refused(err)
	}
	f.Plan = &draft
	return f
}

// plan writes the first page with the plan of the form, or with the mistake in it.
func (s *Server) plan(w http.ResponseWriter, r *http.Request) {
	s.first(w, s.planned(r.Context(), r.PostForm))
}

// again writes the first page with the settings of a run in the form.
func (s *Server) again(w http.ResponseWriter, r *http.Request) {
	name := r.PathValue("name")
	dir, _, ok := s.open(w, name)
	if !ok {
		return
	}
	request, err := session.Asked(dir)
	if err != nil {
		s.refuse(w, http.StatusConflict, err.Error())
		return
	}
	f := form{config: &s.Config, Again: name}
	f.typed, f.Rest = s.filled(request)
	s.first(w, f)
}

// start puts what the form asks into the queue, unless it has a mistake.
func (s *Server) start(w http.ResponseWriter, r *http.Request) {
	f := form{config: &s.Config, typed: r.PostForm}
	request, err := s.request(r.PostForm)
	if err == nil {
		_, err = request.Draft(r.Context(), s.Program, false)
	}
	switch {
	case err != nil:
		s.first(w, f.refused(err))
	case !s.add(request):
		f.Problem = fmt.Sprintf("%d comparisons wait already; stop one of them first", maxQueued)
		s.first(w, f)
	default:
		http.Redirect(w, r, "/#now", http.StatusSeeOther)
	}
}
