package choose

import (
	"fmt"
	"strings"
	"time"

	"schedlab/internal/sizing"
	"schedlab/internal/workload"
)

// A Request is the cost of one request. CPU and Sleep are distributions as in a scenario, "" for
// none. Lock is CPU time under one lock, in addition to CPU.
type Request struct {
	CPU, Sleep string
	Lock       time.Duration
}

// Demand returns the demand of the request. With Lock above 0, its CPU time is the constant mean of
// CPU plus Lock. Errors name the flag.
func (r Request) Demand() (sizing.Demand, error) {
	cpu, err := parse("cpu", r.CPU)
	if err != nil {
		return sizing.Demand{}, err
	}
	if _, err := parse("sleep", r.Sleep); err != nil {
		return sizing.Demand{}, err
	}
	var parts []string
	switch {
	case r.Lock > 0:
		parts = append(parts, "cpu="+(cpu.Mean()+r.Lock).String())
	case r.CPU != "":
		parts = append(parts, "cpu="+r.CPU)
	}
	if r.Sleep != "" {
		parts = append(parts, "sleep="+r.Sleep)
	}
	d, err := sizing.ParseWorkload(strings.Join(parts, ","))
	if err != nil {
		return d, fmt.Errorf("--cpu and --sleep: %w", err)
	}
	return d, nil
}

// parse reads a distribution; "" is none. The error names the flag.
func parse(flag, text string) (d workload.Dist, err error) {
	if text == "" {
		return d, nil
	}
	if d, err = workload.ParseDist(text); err != nil {
		return d, fmt.Errorf("--%s: %w", flag, err)
	}
	return d, nil
}

// Path returns the URL path, with query, that asks /work for such a request.
func (r Request) Path() string {
	var query []string
	if r.CPU != "" {
		query = append(query, "cpu="+strings.ReplaceAll(r.CPU, " ", ""))
	}
	if r.Sleep != "" {
		query = append(query, "sleep="+strings.ReplaceAll(r.Sleep, " ", ""))
	}
	if r.Lock > 0 {
		query = append(query, "lock="+r.Lock.String())
	}
	return "/work?" + strings.Join(query, "&")
}
