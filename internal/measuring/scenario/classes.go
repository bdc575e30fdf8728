package scenario

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"schedlab/internal/measuring/load"
	"schedlab/internal/shared/prose"
	"schedlab/internal/shared/record"
	"schedlab/internal/shared/workload"
)

// A Class is one of several kinds of requests. Each request is of a class that is drawn by Share, from the seed. The other
// fields are as those of [Workload].
type Class struct {
	Name   string        `yaml:"name" help:"of the class in reports and expectations: lower-case letters, digits and dashes"`
	Share  Share         `yaml:"share" help:"of all requests, like 0.95 or 95%; the shares add up to 1"`
	CPU    workload.Dist `yaml:"cpu" help:"CPU time of a request to /work, as of workload"`
	Sleep  workload.Dist `yaml:"sleep" help:"time that a request to /work is blocked, as of workload"`
	Path   string        `yaml:"path" help:"ask this path, instead of cpu and sleep"`
	Method string        `yaml:"method" help:"method of the request (default GET)"`
	Body   string        `yaml:"body" help:"body of the request"`
}

// A Share is a ratio above 0, up to 1.
type Share float64

// UnmarshalText parses 0.95 or 95%.
func (s *Share) UnmarshalText(text []byte) error {
	number, percent := strings.CutSuffix(string(text), "%")
	v, err := strconv.ParseFloat(number, 64)
	if percent {
		v /= 100
	}
	if err != nil || !(v > 0 && v <= 1) {
		return fmt.Errorf("%q is not a share like 0.95 or 95%%, above 0 and up to 1", text)
	}
	*s = Share(v)
	return nil
}

// mostClasses bounds the number of classes, so that each has a row in reports that can be read.
const mostClasses = 16

// checkClasses returns an error for the first fault in the classes, nil if there is none.
func (s *Scenario) checkClasses() *FieldError {
	w, sum := s.Workload, 0.0
	var names []string
	for i, c := range w.Classes {
		at := fmt.Sprintf("workload.classes[%d]", i)
		works := c.CPU != workload.Dist{} || c.Sleep != workload.Dist{}
		if bad := firstBroken([]rule{
			{!nameForm.MatchString(c.Name), at + ".name", fmt.Sprintf("%q is not a name of lower-case letters, digits and dashes, up to 40", c.Name)},
			{c.Name == record.AllRequests, at + ".name", fmt.Sprintf("%q stands for all requests together; take another", c.Name)},
			{slices.Contains(names, c.Name), at + ".name", fmt.Sprintf("%q is taken", c.Name)},
			{c.Share == 0, at + ".share", "is missing: the part of all requests, like 0.95"},
			{c.Path != "" && works, at + ".path", "excludes cpu and sleep, which ask /work"},
			{c.Path != "" && !strings.HasPrefix(c.Path, "/"), at + ".path", fmt.Sprintf("%q does not begin with /", c.Path)},
			{!methodForm.MatchString(c.Method), at + ".method", fmt.Sprintf("%q is not a method", c.Method)},
		}); bad != nil {
			return bad
		}
		names, sum = append(names, c.Name), sum+float64(c.Share)
	}
	const slack = 1e-6 // of thirds, say, that are written with some digits
	return firstBroken([]rule{
		{len(names) == 1, "workload.classes", "has one; give two or more, or leave it out"},
		{len(names) > mostClasses, "workload.classes", fmt.Sprintf("has %d, more than %d", len(names), mostClasses)},
		{len(names) > 0 && (sum < 1-slack || sum > 1+slack), "workload.classes", fmt.Sprintf("have shares that add up to %.4g, not 1", sum)},
		{w.Judge != "" && !slices.Contains(names, w.Judge), "workload.judge", fmt.Sprintf("%q is no class %s", w.Judge, prose.Choice(w.Judge, names))},
	})
}

// classNames returns the names of the classes in their order.
func (w *Workload) classNames() (names []string) {
	for _, c := range w.Classes {
		names = append(names, c.Name)
	}
	return names
}

// Recorded returns the classes in the form of a record.
func (w *Workload) Recorded() (all []record.Class) {
	for _, c := range w.Classes {
		all = append(all, record.Class{Name: c.Name, Share: float64(c.Share), Judged: c.Name == w.Judge})
	}
	return all
}

// asked returns the request of each class, its path without a server.
func (w *Workload) asked() (all []load.Target) {
	for i, c := range w.Classes {
		all = append(all, load.Target{Method: c.Method, URL: cmp.Or(c.Path, workPath), Body: []byte(c.Body), Class: uint8(i)})
	}
	return all
}

// phrases returns what requests of each class ask, like "95 % of requests are light: compute 100us".
func (w *Workload) phrases() (all []string) {
	for i, c := range w.Classes {
		does, of := workOf(c), "are "
		if i == 0 {
			of = "of requests are "
		}
		all = append(all, fmt.Sprintf("%s %% %s%s (%s)", prose.Digits(100*float64(c.Share)), of, c.Name, does))
	}
	return all
}

// workOf returns what a request of a class asks.
func workOf(c Class) string {
	switch {
	case c.Path != "":
		return c.Method + " " + c.Path
	case c.CPU.Mean() > 0 && c.Sleep.Mean() > 0:
		return fmt.Sprintf("compute %s and sleep %s", c.CPU, c.Sleep)
	case c.Sleep.Mean() > 0:
		return fmt.Sprintf("sleep %s", c.Sleep)
	}
	return fmt.Sprintf("compute %s", c.CPU)
}

// Which returns a function that draws the class of n requests, which is the index of their target; nil without classes. The
// draw depends on the seed only.
func (s *Scenario) Which(seed uint64) func(n int) []uint32 {
	classes := s.Workload.Classes
	if classes == nil {
		return nil
	}
	return func(n int) []uint32 {
		rng, which := workload.NewRand(seed^0xc1a55), make([]uint32, n)
		for i := range which {
			at := rng.Float64()
			// Rounding may leave a little over at the end: the last class takes it.
			for at -= float64(classes[0].Share); at >= 0 && int(which[i]) < len(classes)-1; at -= float64(classes[which[i]].Share) {
				which[i]++
			}
		}
		return which
	}
}

// MeanCPU returns the mean CPU time that a request asks for, over all classes.
func (w *Workload) MeanCPU() time.Duration {
	return w.mean(w.CPU, func(c Class) workload.Dist { return c.CPU })
}

// MeanSleep returns the mean time that a request is blocked, over all classes.
func (w *Workload) MeanSleep() time.Duration {
	return w.mean(w.Sleep, func(c Class) workload.Dist { return c.Sleep })
}

// mean returns the mean of a demand: of each class by its share, or the one of all requests.
func (w *Workload) mean(all workload.Dist, of func(Class) workload.Dist) time.Duration {
	if w.Classes == nil {
		return all.Mean()
	}
	sum := 0.0
	for _, c := range w.Classes {
		sum += float64(c.Share) * float64(of(c).Mean())
	}
	return time.Duration(sum)
}
