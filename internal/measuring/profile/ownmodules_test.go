package profile

import (
	"bytes"
	"debug/buildinfo"
	"encoding/binary"
	"os"
	"slices"
	"strings"
	"testing"
)

// A program's own modules are the main one, as the standard library finds it, and those that are in a folder.
func TestOwnModules(t *testing.T) {
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
	if got := OwnModules(bytes.NewReader(file)); len(got) != 1 || got[0] != built.Main.Path || got[0] == "" {
		t.Errorf("got %q, want %q", got, built.Main.Path)
	}
	text := strings.Repeat("0", 16) + "path\tshop/cmd\nmod\tshop\t(devel)\t\ndep\texample.com/lib\tv1.2.3\th1:x=\n" +
		"dep\tshop/libs/rank\tv0.0.0\n=>\t../../libs/rank\t(devel)\t\ndep\tshop/libs/work\t(devel)\t\n" + strings.Repeat("1", 16)
	program := append([]byte("\xff Go buildinf:\x08\x02"), make([]byte, 16)...)
	program = append(program, 0) // Go's version
	program = append(binary.AppendUvarint(program, uint64(len(text))), text...)
	if got, want := OwnModules(bytes.NewReader(program)), []string{"shop", "shop/libs/rank", "shop/libs/work"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	for name, file := range map[string][]byte{
		"empty": nil, "no program": bytes.Repeat([]byte("text"), 1<<19), "cut": file[:len(file)/8],
		"the mark alone": append([]byte("\xff Go buildinf:\x08\x02"), make([]byte, 100)...),
	} {
		if got := OwnModules(bytes.NewReader(file)); got != nil {
			t.Errorf("%s: got %q, want none", name, got)
		}
	}
}
