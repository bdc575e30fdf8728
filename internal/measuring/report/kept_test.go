package report

import (
	"bytes"
	"fmt"
	"schedlab/internal/measuring/report/golden"
	"strings"
	"testing"
)

// One screen of every recorded result stays as it is: of the golden files, and of those whose figures were moved.
func TestRecordedScreensStay(t *testing.T) {
	t.Parallel()
	var all strings.Builder
	for i, r := range recorded(t) {
		var b bytes.Buffer
		if err := Brief(&b, r, TextOptions{}); err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&all, "== result %d\n%s", i, &b)
	}
	golden.Check(t, "testdata/recorded.txt", all.String())
}
