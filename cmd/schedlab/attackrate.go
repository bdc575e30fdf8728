package main

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"schedlab/internal/load"
	"schedlab/internal/scenario"
)

// A perSecond is the rate of an attack, which has no slowest arm to share.
type perSecond struct{ scenario.Rate }

// Set implements pflag.Value.
func (r *perSecond) Set(s string) error {
	var rate scenario.Rate
	err := rate.Set(s)
	number, unitless := strconv.ParseFloat(strings.TrimSpace(s), 64)
	switch {
	case unitless == nil && number > 0:
		return fmt.Errorf("no unit; say %s/s", strings.TrimSpace(s))
	case err != nil:
		return errors.New("not a rate; give requests per second, above 0 and up to 1000000/s, like 100/s")
	case rate.OfSlowest > 0:
		return errors.New("a share of a throughput that is not measured here; give requests per second like 100/s")
	}
	r.Rate = rate
	return nil
}

// held tells whether this process can hold the connections, in the flags' words.
func held(o load.Options) error {
	if o.Idle > 0 && !o.KeepAlive {
		return usagef("--idle %d are connections that are kept; drop --keepalive=false", o.Idle)
	}
	flags := fmt.Sprintf("--connections %d", o.Connections)
	if o.Idle > 0 {
		flags += fmt.Sprintf(" with --idle %d", o.Idle)
	}
	if err := load.CheckConnections(o.Connections + o.Idle); err != nil {
		return usagef("%s: %w", flags, err)
	}
	return nil
}
