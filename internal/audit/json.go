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

// newDocument compiles a table of paths, of which a star is any key, and the figure there,
// as a layout has it. {t} and {n} are of the quantile and the status that the key names.
func newDocument(tool, loop, marks, table string) document {
	d := document{tool, loop, strings.Fields(marks), map[string]field{}}
	for l := range strings.Lines(table) {
		if path, f, ok := strings.Cut(strings.TrimSpace(l), " "); ok {
			m := placeholder.FindStringSubmatch(f)
			d.fields[path] = newField(m[1], m[2], m[3])
		}
	}
	return d
}

var documents = []document{
	newDocument(toolVegeta, pacedLoop, "latencies success status_codes", `
		latencies.total {sum:ns}
		latencies.mean {mean:ns}
		latencies.50th {p50:ns}
		latencies.90th {p90:ns}
		latencies.95th {p95:ns}
		latencies.99th {p99:ns}
		latencies.max {max:ns}
		latencies.min {min:ns}
		bytes_in.total {bytes}
		bytes_in.mean {size}
		bytes_out.total {bytes_sent}
		bytes_out.mean {sent_size}
		duration {attack:ns}
		wait {waited:ns}
		requests {requests}
		rate {offered}
		throughput {good_rate}
		success {success}
		status_codes.* {n}`),
	newDocument(toolFortio, closedLoop, "DurationHistogram ActualQPS", `
		RequestedQPS {asked_rate}
		ActualQPS {rate}
		ActualDuration {seconds:ns}
		NumThreads {connections}
		DurationHistogram.Count {requests}
		DurationHistogram.Min {min:s}
		DurationHistogram.Max {max:s}
		DurationHistogram.Sum {sum:s}
		DurationHistogram.Avg {mean:s}
		DurationHistogram.StdDev {stdev:s}
		DurationHistogram.Data.*.Count {bin}
		DurationHistogram.Percentiles.* {t:s}
		ErrorsDurationHistogram.Count {error_cases.count}
		Sizes.Count {body_size.count}
		Sizes.Min {body_size.min}
		Sizes.Max {body_size.max}
		Sizes.Sum {body_size.sum}
		Sizes.Avg {body_size.mean}
		HeaderSizes.Count {header_size.count}
		HeaderSizes.Min {header_size.min}
		HeaderSizes.Max {header_size.max}
		HeaderSizes.Sum {header_size.sum}
		HeaderSizes.Avg {header_size.mean}
		RetCodes.* {n}`),
	newDocument(toolBombardier, closedLoop, "spec result", `
		spec.numberOfConnections {connections}
		spec.rate {asked_rate}
		result.timeTakenSeconds {seconds:s}
		result.bytesRead {bytes}
		result.req1xx {status_1xx}
		result.req2xx {status_2xx}
		result.req3xx {status_3xx}
		result.req4xx {status_4xx}
		result.req5xx {status_5xx}
		result.others {errors}
		result.latency.mean {mean:us}
		result.latency.stddev {stdev:us}
		result.latency.max {max:us}
		result.latency.percentiles.* {t:us}
		result.rps.mean {sampled_rate.mean}
		result.rps.stddev {sampled_rate.stdev}
		result.rps.max {sampled_rate.max}`),
	newDocument(toolOha, unknownLoop, "summary latencyPercentiles", `
		summary.successRate {success}
		summary.total {seconds:s}
		summary.slowest {max:s}
		summary.fastest {min:s}
		summary.average {mean:s}
		summary.requestsPerSec {rate}
		summary.totalData {bytes}
		summary.sizePerRequest {size}
		summary.sizePerSec {bytes_rate}
		latencyPercentiles.* {t:s}
		responseTimeHistogram.* {bin}
		errorDistribution.* {+errors}
		statusCodeDistribution.* {n}`),
	// --summary-export, and what handleSummary is given, where the statistics are below "values".
	newDocument(toolK6, unknownLoop, "metrics", `
		metrics.http_req_duration.* {*}
		metrics.http_req_sending.* {*sending}
		metrics.http_req_waiting.* {*waiting}
		metrics.http_req_receiving.* {*receiving}
		metrics.http_req_failed.passes {failed}
		metrics.http_req_failed.fails {passed}
		metrics.http_req_failed.value {failed_share}
		metrics.http_req_failed.rate {failed_share}
		metrics.http_reqs.count {requests}
		metrics.http_reqs.rate {rate}
		metrics.iterations.count {iterations}
		metrics.iterations.rate {iterations_rate}
		metrics.iteration_duration.* {*iteration}
		metrics.checks.passes {checks_good}
		metrics.checks.fails {checks_bad}
		metrics.vus_max.max {connections}
		metrics.dropped_iterations.count {unsent}`),
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
		var syntax *json.SyntaxError
		if errors.As(err, &syntax) {
			end = min(end, syntax.Offset-1)
		}
		r.at += max(1, strings.Count(rest[:end], "\n"))
		return true, nil
	}
	first, lines := r.at, strings.Count(rest[:d.InputOffset()], "\n")+1
	r.at += lines
	keys, _ := raw.(map[string]any)
	i := slices.IndexFunc(documents, func(doc document) bool {
		return !slices.ContainsFunc(doc.marks, func(k string) bool { _, ok := keys[k]; return !ok })
	})
	if i < 0 {
		return true, nil
	}
	doc := &documents[i]
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
