package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"schedlab/internal/serving/model"
	"schedlab/internal/shared/stats"
	"schedlab/loadtests/recipes"
)

// Every mode has a recipe or a sentence that says what to use instead, and not both.
func TestEveryModeHasARecipeOrAnInstead(t *testing.T) {
	t.Parallel()
	for _, m := range model.Modes() {
		_, recipe := recipes.Of(m.Name)
		if sentence := recipes.Instead[m.Name]; recipe != (sentence == "") {
			t.Errorf("%s: recipe %v, instead %q", m.Name, recipe, sentence)
		}
	}
	for name := range recipes.Instead {
		if _, err := model.Lookup(name); err != nil {
			t.Error(err)
		}
	}
}

// A service of somebody else takes a recipe: the printed file goes into a package of its own, one
// function calls it, and compare measures the service before and after. Both answer every request.
func TestRecipeInAForeignService(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(filepath.Join(moduleRoot(t), "cmd/schedlab/testdata/shop"))); err != nil {
		t.Fatal(err)
	}
	build := func(program string) string {
		cmd := exec.Command("go", "build", "-o", program, ".")
		cmd.Dir = dir
		output(t, cmd)
		return filepath.Join(dir, program)
	}
	write := func(name, text string) {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	before := build("before")
	write("gate/recipe.go", output(t, exec.Command("schedlab", "recipe", "nethttp-gate")))
	write("serve.go", `package main

import (
	"context"
	"net/http"

	nethttpgate "example.com/shop/gate"
)

func serve(ctx context.Context, addr string, h http.Handler) error {
	return nethttpgate.ListenAndServe(ctx, addr, h, 64)
}
`)
	after := build("after")
	r, _ := compareArms(t, "--path", "/price/apple", "--arm", "before="+before+" -listen {addr}", "--arm", "after="+after+" -listen {addr}")
	if len(r.Arms) != 3 {
		t.Fatalf("got %d arms, want before, its copy, and after", len(r.Arms))
	}
	for _, a := range r.Arms {
		if a.Errors != 0 || a.Requests == 0 || a.StarvedConnections != 0 || a.P50 == nil || a.CPUPerRequest == nil {
			t.Errorf("%s: %d of %d requests failed, %d connections starved, p50 %v", a.Name, a.Errors, a.Requests, a.StarvedConnections, a.P50)
		}
	}
	if r.Valid == 0 {
		t.Error("no block counts")
	}
	for _, v := range r.Verdicts {
		if v.Arm == "after" && v.Metric == stats.P50 && (v.Baseline != "before" || v.Ratio == 0) {
			t.Errorf("p50: got %+v", v)
		}
	}
}
