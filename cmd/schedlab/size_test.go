package main

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"schedlab/internal/capabilities/session"
	"schedlab/internal/capabilities/size"
	"schedlab/internal/measuring/report/document"
	"schedlab/internal/shared/cmdline"
)

// sizeOf is the advice for a workload, as the command gives it.
func sizeOf(t *testing.T, rate, workload, slo string) *size.Page {
	t.Helper()
	f := &sizeFlags{workload: workload, margin: 0.15, slo: slo, cores: 1}
	if err := f.rate.Set(rate); err != nil {
		t.Fatal(err)
	}
	d, err := size.ParseWorkload(workload)
	if err != nil {
		t.Fatal(err)
	}
	s, err := f.request(d).Run()
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// The page's example is what the command prints.
func TestSizePageIsReal(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "guide", "size.md"))
	if err != nil {
		t.Fatal(err)
	}
	examples := regexp.MustCompile("(?s)```text\n\\$ schedlab (.*?)\n(.*?)```").FindAllStringSubmatch(string(page), -1)
	if len(examples) == 0 {
		t.Error("no example on the page")
	}
	for _, e := range examples {
		args, err := cmdline.Split(e[1])
		if err != nil {
			t.Fatal(err)
		}
		var stdout, stderr bytes.Buffer
		if code := run(t.Context(), args, &stdout, &stderr); code != session.Done {
			t.Errorf("%s: exit code %d, %s", e[1], code, &stderr)
		}
		if diff := cmp.Diff(e[2], stdout.String()); diff != "" {
			t.Errorf("%s (-page +printed):\n%s", e[1], diff)
		}
	}
}

// The answer fits on a screen, and comes first.
func TestSizeAnswersOnAScreen(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	s := sizeOf(t, "300/s", "cpu=exp(1500us),sleep=20ms", "p99<=60ms,errors<=0.5%")
	if err := s.Write(&out, "text", false, document.Options{}); err != nil {
		t.Fatal(err)
	}
	text := out.String()
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	if len(lines) > 24 || !strings.Contains(lines[0], " workers and a queue of ") {
		t.Errorf("got %d lines, want 24 at most, the answer first:\n%s", len(lines), text)
	}
	for _, want := range []string{"\nSure ", "\nTest it, in ", "\nDoubts ", "\nMore "} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
}
