package session

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"schedlab/internal/measuring/scenario"
	"schedlab/internal/shared/fact"
	"schedlab/internal/shared/record"
)

// Only a plan that this user signed, unchanged, is the user's own; a record needs that for other
// programs, addresses and variables, and not for schedlab's own servers.
func TestForeignRecordsAreAskedAbout(t *testing.T) {
	home := t.TempDir()
	t.Setenv("XDG_CONFIG_HOME", home)
	t.Setenv("HOME", home)
	dir, err := record.Create(t.TempDir(), "demo", time.Now(), func() uint32 { return 1 })
	if err != nil {
		t.Fatal(err)
	}
	plan := record.Plan{Scenario: "demo", Rate: 1.0 / 3, Arms: []record.PlanArm{{Name: "a", Command: []string{"./a", "{addr}"}}}, Doubts: []fact.Fact{}}
	arm := func(text string) scenario.Scenario {
		a, err := scenario.ParseArm(text)
		if err != nil {
			t.Fatal(err)
		}
		return scenario.Scenario{Arms: []scenario.Arm{a}}
	}
	ask := func(text string, allow bool) error {
		e := explaining{Explain: Explain{RunCommands: allow}}
		return e.mayRun(t.Context(), dir, plan, arm(text))
	}
	foreign := []string{"a=./a {addr}", "a=http://127.0.0.1:1", "nethttp,env.LD_PRELOAD=./a.so"}
	for _, text := range foreign {
		err := ask(text, false)
		if exit, ok := err.(*Error); !ok || exit.Code != Mistake || !strings.Contains(err.Error(), "--run-commands") {
			t.Errorf("%s: got %v, want a question", text, err)
		}
		if err := ask(text, true); err != nil {
			t.Errorf("%s with --run-commands: %v", text, err)
		}
	}
	if err := ask("pool,workers=8", false); err != nil {
		t.Errorf("schedlab's own server: %v", err)
	}
	if err := ask("a=http://192.0.2.1:1", true); err == nil || !strings.Contains(err.Error(), "--allow-remote") {
		t.Errorf("another machine: got %v, want --allow-remote", err)
	}

	write := func(plan string) {
		t.Helper()
		run := fmt.Sprintf(`{"schema": %d, "name": %q, "plan": %s}`, record.Schema, dir.Name(), plan)
		if err := os.WriteFile(filepath.Join(dir.Path(), "run.json"), []byte(run), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	read := func() {
		t.Helper()
		_, run, err := record.Open(dir.Path(), "")
		if err != nil {
			t.Fatal(err)
		}
		plan = run.Plan
	}
	asText, err := json.Marshal(plan)
	if err != nil {
		t.Fatal(err)
	}
	replaced := func(text, was, is string) string {
		t.Helper()
		if strings.Count(text, was) != 1 {
			t.Fatalf("%q is not once in %s", was, text)
		}
		return strings.Replace(text, was, is, 1)
	}
	// As another program wrote it: words and seconds that this one writes differently, and a key that it does not know.
	own := replaced(string(asText), `"doubts":[]`, `"doubts":[{"code":"overloaded","text":"as it was said then"}],"gone":"<3.3000000000000003>"`)
	own = replaced(own, `"window":0`, `"window":0.30000000000000004`)
	write(own)
	if err := dir.Sign(); err != nil {
		t.Fatal(err)
	}
	read()
	if !dir.Signed(plan) {
		t.Error("a signed plan, read from its record, is not known")
	}
	for _, text := range foreign {
		if err := ask(text, false); err != nil {
			t.Errorf("%s of an own record: %v", text, err)
		}
	}
	other := replaced(own, `"./a"`, `"./b"`)
	for _, c := range []struct {
		name, plan string
		own        bool
	}{
		{"a changed command", other, false},
		{"a changed doubt", replaced(own, "as it was", "as it is"), false},
		{"a second plan, which is the one that counts", own + `, "plan": ` + other, false},
		{"a second plan before the one that counts", other + `, "plan": ` + own, true},
	} {
		write(c.plan)
		read()
		if got := ask(foreign[0], false) == nil; got != c.own || got && plan.Arms[0].Command[0] != "./a" {
			t.Errorf("%s: the record is the user's own: %v, runs %s", c.name, got, plan.Arms[0].Command)
		}
	}
	write(own)
	read()
	plan.Arms[0].Command[0] = "./b"
	if ask(foreign[0], false) == nil {
		t.Error("another plan than the record's is the user's own")
	}
	read()
	configured, err := os.UserConfigDir()
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(configured, "schedlab", "record.key")
	if info, err := os.Stat(path); err != nil || info.Mode() != 0o600 {
		t.Fatalf("the key: %v, %v, want mode 0600", info, err)
	}
	for _, key := range [][]byte{nil, bytes.Repeat([]byte("k"), 32)} { // cut short, of another user
		if err := os.WriteFile(path, key, 0o600); err != nil {
			t.Fatal(err)
		}
		if ask(foreign[0], false) == nil {
			t.Errorf("with the key %q the plan is the user's own", key)
		}
	}
}
