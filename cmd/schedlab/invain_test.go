package main

import (
	"io"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"schedlab/internal/capabilities/session"
)

// A flag that would be ignored is a mistake, told with what makes it so; the same flag where it means something is none.
func TestFlagsInVain(t *testing.T) {
	t.Setenv("SCHEDLAB_REQUIRE", "") // restores it
	os.Unsetenv("SCHEDLAB_REQUIRE")  // it is the tests', and no flag's
	const url = "http://127.0.0.1:1/"
	for _, c := range []struct{ call, want string }{
		{"compare --dry-run --output json", "--output json is about a result, and --dry-run prints a plan as text; leave one of them out"},
		{"compare --output csv --dry-run", "--output csv is about a result"},
		{"gate --old x{addr} --new y{addr} --dry-run --output markdown", "--output markdown is about a result"},
		{"capacity --dry-run --output html", "--output html is about a result"},
		{"attack --target " + url + " --output json --verbose", "--verbose shows more of a text, and another --output has everything; leave one of them out"},
		{"audit x.txt --output markdown -v", "--verbose shows more of a text"},
		{"doctor --output json -v", "--verbose shows more of a text"},
		{"size --rate 1/s --held 1ms --output json -v", "--verbose shows more of a text"},
		{"gate --old x{addr} --new y{addr} --run ./z", "--run ./z starts what --build has made of commits, and no --old-ref names one; leave one of them out"},
		{"gate --old x{addr} --new y{addr} --build z", "--build and --new-ref belong to --old-ref"},
		{"gate --old x{addr} --new y{addr} --metric p99 --watch p99", "--watch p99: --metric names it, too"},
		{"gate --old x{addr} --new y{addr} --metric p99 --allow p50=1%", "--allow p50=1%: --metric leaves p50 out"},
		{"attack --target " + url + " --timestamps sent", "--timestamps sent says what the times in the file of --results count from"},
		{"attack quick --target http://127.0.0.1:1 --method PUT", "--method PUT is for a --target without a scenario"},
		{"attack quick --target http://127.0.0.1:1 --header a:b", "--header [a:b] is for a --target without a scenario"},
		{"attack --targets x.txt --body y", "--body y is for a --target, and the file of --targets says what is asked"},
		{"attack --target " + url + " --engine vegeta --rest spin", "--rest spin is how the engine spin waits"},
		{"attack --target " + url + " -c 0 --open-rate 5", "--open-rate 5 opens connections beforehand, and --connections 0 has none"},
		{"attack --target " + url + " --think 5ms", "--think belongs to --loop closed; this loop is open"},
		{"explain --no-interventions --budget 2m", "--budget 2m0s is about tests, and --no-interventions makes none; leave one of them out"},
		{"explain --no-interventions --run-commands", "--run-commands is about tests"},
		{"runs show latest --scenario quick", "--scenario quick chooses the newest run of a scenario, and a run is named; leave one of them out"},
		{"runs diff a b --scenario quick", "--scenario quick chooses among runs, and two are named"},
		{"scenarios --schema --output vegeta", "--output vegeta is about one scenario, and --schema prints what all may have"},
		{"scenarios quick --schema", "--schema prints what all scenarios may have, and takes no names"},
		{"scenarios quick --target " + url, "--target belongs to --output vegeta"},
		{"compare --stamps full --path / --arm a=http://127.0.0.1:1 --arm b=http://127.0.0.1:2", "--stamps full is for schedlab's own servers, and no arm is one; leave it out"},
		{"serve --mode pool --stamps off --timeline 9", "--timeline 9 means nothing to --stamps off"},
		{"size --rate 1/s --held 1ms --metric x", "--metric belongs to --histogram"},
		{"doctor --quick --full", "--quick and --full exclude each other"},
		// These mean something.
		{"compare --dry-run --output text --note n --progress plain --profiles", ""},
		{"capacity --dry-run --arms nethttp", ""},
		{"scenarios --schema", ""},
	} {
		var errs strings.Builder
		code := run(t.Context(), strings.Fields(c.call), io.Discard, &errs)
		if c.want == "" && code != session.Done || c.want != "" && (code != session.Mistake || !strings.HasPrefix(errs.String(), "schedlab: "+c.want)) {
			t.Errorf("%s: exit code %d: %s, want %q", c.call, code, &errs, c.want)
		}
	}
	// What stands in the environment is for many calls.
	t.Setenv("SCHEDLAB_OUTPUT", "json")
	var errs strings.Builder
	if code := run(t.Context(), []string{"compare", "--dry-run"}, io.Discard, &errs); code != session.Done {
		t.Errorf("SCHEDLAB_OUTPUT=json with --dry-run: exit code %d: %s", code, &errs)
	}
}

// The table names commands and flags that there are.
func TestFlagsInVainExist(t *testing.T) {
	t.Parallel()
	root := newRoot(io.Discard, io.Discard)
	for _, v := range flagsInVain {
		for name := range strings.FieldsSeq(v.flags) {
			if !slices.ContainsFunc(v.of, func(of string) bool { return hasFlag(root, of, name) }) {
				t.Errorf("none of %q has --%s", v.of, name)
			}
		}
		for _, of := range v.of {
			if !slices.ContainsFunc(strings.Fields(v.flags), func(name string) bool { return hasFlag(root, of, name) }) {
				t.Errorf("%s has none of %s", of, v.flags)
			}
		}
	}
}

// hasFlag reports whether the command that users type so has a flag, its own or one of the commands above.
func hasFlag(root *cobra.Command, typed, flag string) bool {
	cmd, left, err := root.Find(strings.Fields(typed))
	if err != nil || len(left) > 0 {
		return false
	}
	cmd.InheritedFlags() // adds them to Flags
	return cmd.Flags().Lookup(flag) != nil
}
