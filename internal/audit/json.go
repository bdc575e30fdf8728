package audit

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// A document is what a tool prints as JSON.
type document struct {
	tool, loop string
	marks      []string // keys that it has and no other has together
	fields     map[string]field
}

// line adds a path, of which a star is any key, and the figure there, as a layout has it.
// {t} and {n} are of the quantile and the status that the key names.
func (d *document) line(l string) {
	path, f, _ := strings.Cut(l, " ")
	m := placeholder.FindStringSubmatch(f)
	d.fields[path] = newField(m[1], m[2], m[3])
}

// object reads a JSON object that begins on the next line, if it is a tool's. What is
// JSON and no tool's is passed as a whole, so that each byte is read once.
func (r *reader) object() (bool, error) {
	if !strings.HasPrefix(strings.TrimSpace(r.Lines[r.at]), "{") {
		return false, nil
	}
	rest := r.all[r.begin[r.at]:]
	d := json.NewDecoder(strings.NewReader(rest))
	d.UseNumber()
	var raw any
	if err := d.Decode(&raw); err != nil {
		end := int64(len(rest))
		if syntax, ok := errors.AsType[*json.SyntaxError](err); ok {
			end = min(end, syntax.Offset-1)
		}
		r.at += max(1, strings.Count(rest[:end], "\n"))
		return true, nil
	}
	first, lines := r.at, strings.Count(rest[:d.InputOffset()], "\n")+1
	r.at += lines
	keys, _ := raw.(map[string]any)
	i := slices.IndexFunc(documents, func(doc *document) bool {
		return !slices.ContainsFunc(doc.marks, func(k string) bool { _, ok := keys[k]; return !ok })
	})
	if i < 0 {
		return true, nil
	}
	doc := documents[i]
	c := newClaim(doc.tool, first+1)
	c.Loop, c.End = doc.loop, first+lines
	if err := doc.walk(c, raw, "", ""); err != nil {
		return false, &SyntaxError{c.Line, fmt.Errorf("%s: %w", doc.tool, err)}
	}
	if c.has("attack", "waited") {
		c.sum(Seconds, "attack", "waited")
	}
	if doc.tool == toolK6 && !c.measured() {
		return false, &SyntaxError{c.Line, errors.New("k6: the summary has no metric http_req_duration")}
	}
	if c.measured() {
		r.Claims = append(r.Claims, c)
		for i := first; i < c.End; i++ {
			r.read[i] = true
		}
	}
	return true, nil
}

// walk takes the figures below a path; key is the last one of it.
func (d *document) walk(c *Claim, v any, path, key string) error {
	switch v := v.(type) {
	case map[string]any:
		if q, ok := v["Percentile"].(json.Number); ok { // fortio's list of them
			return d.walk(c, v["Value"], path, q.String())
		}
		for _, k := range slices.Sorted(maps.Keys(v)) {
			below := strings.TrimPrefix(path+"."+k, ".")
			if k == "values" && d.tool == toolK6 {
				below = path
			}
			if err := d.walk(c, v[k], below, k); err != nil {
				return err
			}
		}
	case []any:
		for _, e := range v {
			if err := d.walk(c, e, path+".*", ""); err != nil {
				return err
			}
		}
	case json.Number, string:
		f, ok := d.fields[path]
		if !ok {
			star := path[:max(0, strings.LastIndex(path, "."+key))]
			if key == "" {
				star = strings.TrimSuffix(path, ".*")
			}
			f, ok = d.fields[star+".*"]
		}
		if !ok || v == "max" {
			return nil
		}
		if err := f.take(c, key, fmt.Sprint(v)); err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
	}
	return nil
}

// take takes one figure, below a key that may name its quantile, status or statistic.
func (f field) take(c *Claim, key, text string) error {
	name := f.name
	switch {
	case f.op == "*":
		if !k6Stat.MatchString(key + "=1s") {
			return nil
		}
		return k6Stats(c, name, key+"="+text+"ms")
	case name == "n":
		return c.status(key, text)
	case name == "t":
		percent, err := strconv.ParseFloat(strings.TrimPrefix(key, "p"), 64)
		if err != nil || !(percent >= 0 && percent <= 100) {
			return fmt.Errorf("%q is no quantile", key)
		}
		name = quantileName(percent)
	case name == Errors && key == "aborted due to deadline":
		name = CutOff
	}
	v, err := figure(text+f.unit, f.kind)
	if err != nil {
		return err
	}
	if f.kind == "share" {
		v.Half = 1e-6 // a whole 1 is exact
	}
	c.note(f.op, name, v)
	return nil
}
