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

// A document is what a tool prints as JSON: marks are keys that it has and no other has
// together.
type document struct {
	tool  string
	marks []string
	read  func(c *Claim, text []byte) error
}

var documents = []document{
	{toolVegeta, []string{"latencies", "success", "status_codes"}, vegetaJSON},
	{toolFortio, []string{"DurationHistogram", "ActualQPS"}, fortioJSON},
	{toolBombardier, []string{"spec", "result"}, bombardierJSON},
	{toolOha, []string{"summary", "latencyPercentiles"}, ohaJSON},
	{toolK6, []string{"metrics"}, k6JSON},
}

// object reads a JSON object that begins on the next line, if it is a tool's. What is
// JSON and no tool's is passed as a whole, so that each byte is read once.
func (r *reader) object() (bool, error) {
	if !strings.HasPrefix(strings.TrimSpace(r.Lines[r.at]), "{") {
		return false, nil
	}
	rest := r.all[r.begin[r.at]:]
	d := json.NewDecoder(strings.NewReader(rest))
	var raw json.RawMessage
	var keys map[string]json.RawMessage
	if err := d.Decode(&raw); err != nil {
		end := int64(len(rest))
		var syntax *json.SyntaxError
		if errors.As(err, &syntax) {
			end = min(end, syntax.Offset-1)
		}
		r.at += max(1, strings.Count(rest[:end], "\n"))
		return true, nil
	}
	lines := strings.Count(rest[:d.InputOffset()], "\n")
	if json.Unmarshal(raw, &keys) != nil {
		return false, nil
	}
	for _, doc := range documents {
		if slices.ContainsFunc(doc.marks, func(k string) bool { _, ok := keys[k]; return !ok }) {
			continue
		}
		c := newClaim(doc.tool, r.at+1)
		c.End = c.Line + lines
		if err := doc.read(c, raw); err != nil {
			return false, &SyntaxError{c.Line, fmt.Errorf("%s: %w", doc.tool, err)}
		}
		if !c.measured() {
			break
		}
		r.Claims = append(r.Claims, c)
		for i := r.at; i < c.End; i++ {
			r.read[i] = true
		}
		break
	}
	r.at += lines + 1
	return true, nil
}

// put sets figures that are there, in a unit.
func put(c *Claim, unit float64, all map[string]*float64) {
	for name, v := range all {
		if v != nil {
			c.set(name, exact(*v*unit))
		}
	}
}

func countsOf(c *Claim, statuses map[string]int) error {
	for _, code := range slices.Sorted(maps.Keys(statuses)) {
		if err := addStatus(c, code, strconv.Itoa(statuses[code])); err != nil {
			return fmt.Errorf("status %q: %w", code, err)
		}
	}
	return nil
}

func vegetaJSON(c *Claim, text []byte) error {
	var v struct {
		Latencies struct {
			Mean, Min, Max *float64
			P50            *float64 `json:"50th"`
			P90            *float64 `json:"90th"`
			P95            *float64 `json:"95th"`
			P99            *float64 `json:"99th"`
			Total          *float64
		}
		BytesIn struct{ Total *float64 } `json:"bytes_in"`
		Duration, Wait, Requests, Rate,
		Success *float64
		StatusCodes map[string]int `json:"status_codes"`
	}
	if err := json.Unmarshal(text, &v); err != nil {
		return err
	}
	l := v.Latencies
	put(c, 1e-9, map[string]*float64{Mean: l.Mean, Min: l.Min, Max: l.Max, "p50": l.P50, "p90": l.P90, "p95": l.P95, "p99": l.P99, Sum: l.Total})
	put(c, 1, map[string]*float64{Requests: v.Requests, "rate_sent": v.Rate, "success": v.Success, Bytes: v.BytesIn.Total})
	if c.has(Mean) {
		c.set(Mean, Figure{c.get(Mean).Value, 1e-9}) // whole nanoseconds
	}
	if v.Duration != nil && v.Wait != nil {
		c.set(Seconds, exact((*v.Duration+*v.Wait)*1e-9))
	}
	if err := countsOf(c, v.StatusCodes); err != nil {
		return err
	}
	vegetaEnd(c)
	return nil
}

func fortioJSON(c *Claim, text []byte) error {
	var v struct {
		RequestedQPS      string
		ActualQPS         *float64
		ActualDuration    *float64
		NumThreads        *float64
		DurationHistogram struct {
			Count, Min, Max, Sum, Avg, StdDev *float64
			Percentiles                       []struct{ Percentile, Value float64 }
		}
		RetCodes map[string]int
	}
	if err := json.Unmarshal(text, &v); err != nil {
		return err
	}
	h := v.DurationHistogram
	put(c, 1, map[string]*float64{Rate: v.ActualQPS, Connections: v.NumThreads, Requests: h.Count, Min: h.Min, Max: h.Max, Sum: h.Sum, Mean: h.Avg, Stdev: h.StdDev})
	put(c, 1e-9, map[string]*float64{Seconds: v.ActualDuration})
	for _, p := range h.Percentiles {
		c.set(quantileName(p.Percentile), exact(p.Value))
	}
	c.Loop = closedLoop
	if qps, err := strconv.ParseFloat(v.RequestedQPS, 64); err == nil && qps > 0 { // or "max"
		c.set(Offered, exact(qps))
		c.Loop = pacedLoop
	}
	return countsOf(c, v.RetCodes)
}

func bombardierJSON(c *Claim, text []byte) error {
	var v struct {
		Spec   struct{ NumberOfConnections, Rate *float64 }
		Result struct {
			BytesRead                              *float64
			TimeTakenSeconds                       *float64
			Req1xx, Req2xx, Req3xx, Req4xx, Req5xx *float64
			Others                                 *float64
			Latency                                struct {
				Mean, Stddev, Max *float64
				Percentiles       map[string]float64
			}
		}
	}
	if err := json.Unmarshal(text, &v); err != nil {
		return err
	}
	res, l := v.Result, v.Result.Latency
	put(c, 1, map[string]*float64{
		Connections: v.Spec.NumberOfConnections, Seconds: res.TimeTakenSeconds, Bytes: res.BytesRead,
		Status1xx: res.Req1xx, Status2xx: res.Req2xx, Status3xx: res.Req3xx, Status4xx: res.Req4xx, Status5xx: res.Req5xx, Errors: res.Others,
	})
	put(c, 1e-6, map[string]*float64{Mean: l.Mean, Stdev: l.Stddev, Max: l.Max})
	for name, v := range l.Percentiles {
		p, err := strconv.ParseFloat(name, 64)
		if err != nil {
			return fmt.Errorf("percentile %q is no number", name)
		}
		c.set(quantileName(p), Figure{v * 1e-6, 1e-6}) // whole microseconds
	}
	if c.has(Max) {
		c.set(Max, Figure{c.get(Max).Value, 1e-6})
	}
	bombardierLayout.finish(c)
	if v.Spec.Rate != nil {
		c.set(Offered, exact(*v.Spec.Rate))
		c.Loop = pacedLoop
	}
	return nil
}

func ohaJSON(c *Claim, text []byte) error {
	var v struct {
		Summary            struct{ Total, Slowest, Fastest, Average, RequestsPerSec, TotalData *float64 }
		LatencyPercentiles map[string]*float64
		StatusCodes        map[string]int `json:"statusCodeDistribution"`
		Errors             map[string]int `json:"errorDistribution"`
	}
	if err := json.Unmarshal(text, &v); err != nil {
		return err
	}
	s := v.Summary
	put(c, 1, map[string]*float64{Seconds: s.Total, Max: s.Slowest, Min: s.Fastest, Mean: s.Average, Rate: s.RequestsPerSec, Bytes: s.TotalData})
	for name := range v.LatencyPercentiles {
		if _, ok := quantileOf(name); !ok {
			return fmt.Errorf("percentile %q is none", name)
		}
	}
	put(c, 1, v.LatencyPercentiles)
	for what, n := range v.Errors {
		name := Errors
		if what == "aborted due to deadline" {
			name = CutOff
		}
		c.add(name, Figure{Value: float64(n)})
	}
	if err := countsOf(c, v.StatusCodes); err != nil {
		return err
	}
	ended(c)
	return nil
}

// k6JSON reads --summary-export and what handleSummary is given, where the statistics
// are below "values". Times are milliseconds.
func k6JSON(c *Claim, text []byte) error {
	var v struct {
		Metrics map[string]map[string]json.RawMessage
	}
	if err := json.Unmarshal(text, &v); err != nil {
		return err
	}
	number := func(metric, stat string) (f float64, ok bool) {
		m := v.Metrics[metric]
		if nested, ok := m["values"]; ok {
			var values map[string]json.RawMessage
			if json.Unmarshal(nested, &values) == nil {
				m = values
			}
		}
		raw, ok := m[stat]
		ok = ok && json.Unmarshal(raw, &f) == nil
		return f, ok
	}
	if _, ok := v.Metrics["http_req_duration"]; !ok {
		return errors.New("the summary has no metric http_req_duration")
	}
	for _, stat := range []string{"avg", "min", "med", "max", "p(90)", "p(95)", "p(99)", "p(99.9)"} {
		if f, ok := number("http_req_duration", stat); ok {
			c.set(k6Name(stat), exact(f*1e-3))
		}
	}
	for name, at := range map[string][2]string{
		Requests: {"http_reqs", "count"}, Rate: {"http_reqs", "rate"}, "failed": {"http_req_failed", "passes"},
		Connections: {"vus_max", "max"}, Unsent: {"dropped_iterations", "count"},
	} {
		if f, ok := number(at[0], at[1]); ok {
			c.set(name, exact(f))
		}
	}
	k6End(c)
	return nil
}
