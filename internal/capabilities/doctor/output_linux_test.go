package doctor

import (
	"strings"
	"testing"
)

// A file system that holds no files may be written by its permissions.
func TestOutputWithoutFileSystem(t *testing.T) {
	t.Parallel()
	m := healthy(t)
	m.Out = "/proc/foo"
	want := "unfit: output: /proc/foo cannot be written: "
	if got := Examine(m).Sentence; !strings.HasPrefix(got, want) || got == want {
		t.Errorf("got %q, want %q and the cause", got, want)
	}
}
