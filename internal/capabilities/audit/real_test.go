package audit_test

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"schedlab/internal/capabilities/audit"
	"schedlab/internal/shared/outcome"
)

// Outputs of real runs, which tools/audit-real writes: with random flags, from one request on, of servers that
// answer, refuse, err, wait or are not there. None is impossible. Where the server gave no good reply, which
// the name says, audit says that nothing was measured, or the tool printed no result at all.
func TestRealRunsAreNotImpossible(t *testing.T) {
	t.Parallel()
	of := map[string]int{}
	for _, file := range glob(t, "real/*") {
		of[regexp.MustCompile(`^(.*)-\d\d-`).FindStringSubmatch(filepath.Base(file))[1]]++
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		none := strings.Contains(file, ".none.")
		read, err := audit.Read(bytes.NewReader(text))
		var syntax *audit.SyntaxError
		switch {
		case errors.As(err, &syntax) && none && (strings.Contains(err.Error(), "no run found") || strings.Contains(err.Error(), "gave up")):
			continue
		case err != nil:
			t.Errorf("%s: %v", file, err)
			continue
		case len(read.Claims) != 1 || len(read.Unread) > 0:
			t.Errorf("%s: %d runs, lines %v are not read", file, len(read.Claims), read.Unread)
		}
		nothing := false
		for _, f := range audit.Judge(read, audit.Given{}).Findings {
			if f.Outcome == outcome.No {
				t.Errorf("%s: impossible: %s", file, f.Fact().String())
			}
			nothing = nothing || f.Code == "audit-nothing" || f.Code == "audit-all-bad"
		}
		if nothing != none && !strings.Contains(file, ".unclear.") {
			t.Errorf("%s: says that nothing was measured: %v, want %v", file, nothing, none)
		}
	}
	for _, tool := range []string{"wrk", "ab", "hey-0.1.4", "hey-0.1.5", "h2load", "httperf", "fortio", "bombardier", "vegeta", "oha"} {
		if of[tool] != 12 {
			t.Errorf("%d outputs of %s, want 12", of[tool], tool)
		}
	}
}

// printedNumber matches a number with the letters, digits and signs that belong to it.
var printedNumber = regexp.MustCompile(`\d+(?:\.\d+)?e[+-]\d+|[\w.,]*\d[\w.,%]*`)

// digits matches the number itself, at the beginning of what printedNumber finds.
var digits = regexp.MustCompile(`^\d+(?:\.\d+)?`)

// times multiplies a number as it is printed and keeps its decimals, or adds the ones that a small result
// needs. It returns the same text for 0, and for a whole number that is rounded to the same.
func times(text string, factor float64) string {
	number := digits.FindString(text)
	v, err := strconv.ParseFloat(number, 64)
	if err != nil {
		return text
	}
	_, fraction, _ := strings.Cut(number, ".")
	decimals := len(fraction)
	if decimals > 0 && factor < 1 {
		decimals += 3
	}
	return strconv.FormatFloat(v*factor, 'f', decimals, 64) + strings.TrimPrefix(text, number)
}

// around returns the words of a line around the bytes from one offset to another.
func around(text string, from, to int) string {
	const most = 40 // bytes on each side
	begin := max(strings.LastIndex(text[:from], "\n")+1, from-most)
	end := len(text)
	if i := strings.Index(text[to:], "\n"); i >= 0 {
		end = to + i
	}
	return strings.Join(strings.Fields(strings.ToValidUTF8(text[begin:min(end, to+most)], "")), " ")
}

// caught reports whether audit finds a text impossible. ok is false for a text that it refuses,
// or from which it does not read the figures that want has, whatever their values.
func caught(text string, want map[string]bool) (caught, ok bool) {
	read, err := audit.Read(strings.NewReader(text))
	if err != nil || len(read.Claims) != 1 {
		return false, false
	}
	for name := range want {
		if _, has := read.Claims[0].Figures[name]; !has {
			return false, false
		}
	}
	return slices.ContainsFunc(audit.Judge(read, audit.Given{}).Findings, func(f audit.Finding) bool { return f.Outcome == outcome.No }), true
}

// Each figure of a clean run in turn is doubled or halved, by a seed. A law reaches a figure if it is impossible
// both when it is eight times as large and when it is an eighth. Of these, at least 100 of 110 are impossible when
// they are only doubled or halved. The golden file lists the others. No law reaches a setting, or a figure that is
// limited from one side only, or loosely.
func TestChangedFiguresAreFound(t *testing.T) {
	t.Parallel()
	var report strings.Builder
	allReached, allFound, allBeyond := 0, 0, 0
	for _, file := range append(glob(t, "clean/*"), glob(t, "written/*")...) {
		kept, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		text := string(kept) + "\n" // as the tools end: without it, some of a last list may have been cut off
		read, err := audit.Read(strings.NewReader(text))
		if err != nil || len(read.Claims) != 1 {
			continue // several runs, which are compared
		}
		names := map[string]bool{}
		for name := range read.Claims[0].Figures {
			names[name] = true
		}
		before := fmt.Sprint(read.Claims[0].Figures)
		r := rand.New(rand.NewPCG(43, uint64(len(text))))
		found, beyond := 0, 0
		var missed []string
		for _, at := range printedNumber.FindAllStringIndex(text, -1) {
			token := text[at[0]:at[1]]
			with := func(factor float64) string { return text[:at[0]] + times(token, factor) + text[at[1]:] }
			factor := []float64{.5, 2}[r.IntN(2)]
			if times(token, factor) == token {
				factor = 1 / factor
			}
			after, err := audit.Read(strings.NewReader(with(factor)))
			if err != nil || len(after.Claims) != 1 || fmt.Sprint(after.Claims[0].Figures) == before {
				continue // no figure, or one that is not read
			}
			hit, ok := caught(with(factor), names)
			if !ok {
				continue // it names a figure, such as the 99 of 99%
			}
			reaches := true
			for _, way := range []float64{factor, 1 / factor} {
				found := way == factor && hit
				for far := way; !found && far >= 1./8 && far <= 8; far *= way {
					found, _ = caught(with(far), names)
				}
				reaches = reaches && found
			}
			switch {
			case !reaches:
				beyond++
			case hit:
				found++
			default:
				missed = append(missed, fmt.Sprintf("\tline %d: %s -> %s in %q\n", strings.Count(text[:at[0]], "\n")+1, token, times(token, factor), around(text, at[0], at[1])))
			}
		}
		name := filepath.ToSlash(strings.TrimPrefix(file, "testdata"+string(filepath.Separator)))
		fmt.Fprintf(&report, "%s: %d of %d found; no law reaches %d more\n%s", name, found, found+len(missed), beyond, strings.Join(missed, ""))
		allReached, allFound, allBeyond = allReached+found+len(missed), allFound+found, allBeyond+beyond
	}
	fmt.Fprintf(&report, "all: %d of %d found; no law reaches %d more\n", allFound, allReached, allBeyond)
	if allFound*110 < allReached*100 {
		t.Errorf("%d of %d changed figures are found, want 100 of 110 or more", allFound, allReached)
	}
	const golden = "testdata/changed.golden"
	if *update {
		if err := os.WriteFile(golden, []byte(report.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), report.String()); diff != "" {
		t.Errorf("%s (-want +got)\n%s", golden, diff)
	}
}
