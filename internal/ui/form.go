package ui

import (
	"fmt"
	"net/url"
	"slices"
	"strings"

	"schedlab/internal/scenario"
)

// arguments makes the command line of `schedlab compare` from the form. It refuses what the form does not
// offer and, without AllowCommands, arms that are not schedlab's own servers. Everything else is checked by
// the command itself. A value stands in one word with its flag, so that it cannot be a flag.
func (c *Config) arguments(form url.Values) ([]string, error) {
	name := form.Get("scenario")
	if !slices.ContainsFunc(c.Scenarios, func(s Scenario) bool { return s.Name == name }) {
		return nil, fmt.Errorf("scenario %q is none of the list", name)
	}
	args := []string{name}
	for _, mode := range form["mode"] {
		if !slices.Contains(c.Modes, mode) {
			return nil, fmt.Errorf("mode %q is none of the list", mode)
		}
	}
	if modes := form["mode"]; len(modes) > 0 {
		args = append(args, "--arms="+strings.Join(modes, ","))
	}
	for text := range strings.Lines(form.Get("arm")) {
		text = strings.TrimSpace(text)
		if text == "" {
			continue
		}
		a, err := scenario.ParseArm(text)
		if err != nil {
			return nil, fmt.Errorf("arms: %w", err)
		}
		// As for a record of somebody else: a command, an address, or variables that can make a program do
		// much.
		if (a.Mode == "" || len(a.Env) > 0) && !c.AllowCommands {
			return nil, fmt.Errorf("arms: %q is not one of schedlab's own servers alone; start schedlab ui with --allow-commands to allow commands, addresses and variables", text)
		}
		args = append(args, "--arm="+text)
	}
	for _, flag := range []string{"vary", "rate", "window", "budget"} {
		if value := strings.TrimSpace(form.Get(flag)); value != "" {
			args = append(args, "--"+flag+"="+value)
		}
	}
	return args, nil
}
