package fact_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// Nobody but audit, whose findings are a table, has the values of a fact by their keys: every other package has a struct.
func TestValuesAreReadByTheirKinds(t *testing.T) {
	t.Parallel()
	told := regexp.MustCompile(`\.Told\(`)
	for _, root := range []string{"../..", "../../../cmd"} {
		err := filepath.WalkDir(root, func(path string, _ fs.DirEntry, err error) error {
			if err != nil || !strings.HasSuffix(path, ".go") || strings.HasPrefix(path, "../../capabilities/audit/") || strings.HasPrefix(path, "../../shared/fact/") {
				return err
			}
			text, err := os.ReadFile(path)
			if told.Match(text) {
				t.Errorf("%s has values of a fact by their keys", path)
			}
			return err
		})
		if err != nil {
			t.Error(err)
		}
	}
}
