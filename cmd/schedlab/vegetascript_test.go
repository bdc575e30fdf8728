package main

import (
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	vegeta "github.com/tsenart/vegeta/v12/lib"
	"schedlab/internal/capabilities/session"
)

var (
	scriptTargets = regexp.MustCompile(`(?s)<<'TARGETS'\n(.*\n)TARGETS\n`)
	scriptAttack  = regexp.MustCompile(`(?m)^targets \| .* \|\n\t.*$`)
	scriptReport  = regexp.MustCompile(`Requests +\[total, rate, throughput\] +([1-9]\d*), [\s\S]*Status Codes +\[code:count\] +(.*)`)
	goodCode      = regexp.MustCompile(`\b20[04]:`)
	badCode       = regexp.MustCompile(`\b[45]\d\d:`)
)

// Every embedded scenario prints as a script of vegeta's command lines: those of
// open loops run, by the real vegeta against a real server, and the targets of
// the others are ones that vegeta reads.
func TestScenariosPrintForVegeta(t *testing.T) {
	t.Parallel()
	addr := serve(t, "nethttp").addr
	tool := vegetaCommand(t).Path
	for _, name := range session.Scenarios.Names() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			script := output(t, exec.Command("schedlab", "scenarios", name, "--output", "vegeta", "--target", "http://"+addr))
			targets := scriptTargets.FindStringSubmatch(script)
			attacks := scriptAttack.FindAllString(script, -1)
			if targets == nil || len(attacks) == 0 {
				t.Fatalf("no targets or no attack in\n%s", script)
			}
			read := vegeta.NewHTTPTargeter(strings.NewReader(targets[1]), nil, nil)
			if strings.Contains(attacks[0], "-format=json") {
				read = vegeta.NewJSONTargeter(strings.NewReader(targets[1]), nil, nil)
			}
			all, err := vegeta.ReadAllTargets(read)
			if err != nil || !strings.HasPrefix(all[0].URL, "http://"+addr+"/") {
				t.Fatalf("%v, targets %+v; want some on %s from\n%s", err, all, addr, script)
			}
			s, err := session.Find(name)
			if err != nil {
				t.Fatal(err)
			}
			if s.Load.Loop == "closed" {
				if !strings.Contains(attacks[0], "-max-workers=") {
					t.Errorf("%s: want a worker for each client", attacks[0])
				}
				return
			}
			for _, attack := range slices.Compact(attacks) {
				if strings.Contains(attack, "-max-workers=") {
					continue // an arm's closed loop
				}
				only := scriptAttack.ReplaceAllStringFunc(script, func(a string) string {
					if a == attack {
						return strings.ReplaceAll(a, "go tool vegeta", "'"+tool+"'")
					}
					return ""
				})
				run := exec.CommandContext(t.Context(), "bash", "-c", only)
				run.Env = append(run.Environ(), "DURATION="+(100*time.Millisecond).String())
				report := output(t, run)
				if m := scriptReport.FindStringSubmatch(report); m == nil || !goodCode.MatchString(m[2]) || badCode.MatchString(m[2]) {
					t.Errorf("%s\nreports\n%s\nwant requests, and their targets accepted", attack, report)
				}
			}
		})
	}
}
