package profile

import (
	"bytes"
	"debug/buildinfo"
	"os"
	"testing"
)

// The main module of a program is the one that the standard library finds.
func TestMainModule(t *testing.T) {
	own, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	built, err := buildinfo.ReadFile(own)
	if err != nil {
		t.Fatal(err)
	}
	file, err := os.ReadFile(own)
	if err != nil {
		t.Fatal(err)
	}
	if got := MainModule(bytes.NewReader(file)); got != built.Main.Path || got == "" {
		t.Errorf("got %q, want %q", got, built.Main.Path)
	}
	for name, file := range map[string][]byte{
		"empty": nil, "no program": bytes.Repeat([]byte("text"), 1<<19), "cut": file[:len(file)/8],
		"the mark alone": append([]byte("\xff Go buildinf:\x08\x02"), make([]byte, 100)...),
	} {
		if got := MainModule(bytes.NewReader(file)); got != "" {
			t.Errorf("%s: got %q, want none", name, got)
		}
	}
}
