package scenario

import (
	"strings"
	"testing"

	"schedlab/internal/measuring/scenario/demo"
	"schedlab/internal/shared/cmdline"
	"schedlab/internal/shared/record"

	"github.com/google/go-cmp/cmp"
)

// However an arm is spelled, its environment and address come before its command.
func TestForeignArms(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		text string
		want Arm
		argv string
	}{
		{"mine=GOGC=200 A='b c' ./s {addr}", Arm{Name: "mine", Env: map[string]string{"GOGC": "200", "A": "b c"}, Command: []string{"./s", "{addr}"}}, `A='b c' GOGC=200 ./s {addr}`},
		{"mine=./s -h {host} -p {port}", Arm{Name: "mine", Command: []string{"./s", "-h", "{host}", "-p", "{port}"}}, "./s -h {host} -p {port}"},
		{"mine=A=1 limit=0.5 ./s {addr}", Arm{Name: "mine", Limits: map[string]string{"limit": "0.5"}, Env: map[string]string{"A": "1"}, Command: []string{"./s", "{addr}"}}, "limit=0.5 A=1 ./s {addr}"},
		{"nethttp,limit=0.5", Arm{Name: "nethttp,limit=0.5", Mode: "nethttp", Limits: map[string]string{"limit": "0.5"}}, "limit=0.5 schedlab"},
		{"nethttp,env.GOGC=50,limit=1", Arm{Name: "nethttp,limit=1,env.GOGC=50", Mode: "nethttp", Limits: map[string]string{"limit": "1"}, Env: map[string]string{"GOGC": "50"}}, "limit=1 GOGC=50 schedlab"},
		{"mine=metrics=:9100/m ADDR={addr} ./s", Arm{Name: "mine", Metrics: ":9100/m", Env: map[string]string{"ADDR": "{addr}"}, Command: []string{"./s"}}, "ADDR={addr} ./s"},
		{"mine=ADDR={addr} tls=insecure A=1 metrics=/m ./s", Arm{Name: "mine", Metrics: "/m", Clients: map[string]string{"tls": "insecure"}, Env: map[string]string{"ADDR": "{addr}", "A": "1"}, Command: []string{"./s"}}, "A=1 ADDR={addr} ./s"},
		{"prod=http://127.0.0.1:9000/", Arm{Name: "prod", URL: "http://127.0.0.1:9000"}, "http://127.0.0.1:9000"},
		{"prod=metrics=/metrics http://localhost:9000", Arm{Name: "prod", URL: "http://localhost:9000", Metrics: "/metrics"}, "http://localhost:9000"},
		{"nethttp,env.GOGC=200", Arm{Name: "nethttp,env.GOGC=200", Mode: "nethttp", Env: map[string]string{"GOGC": "200"}}, "GOGC=200 schedlab"},
		{"pool,env.GODEBUG=a/b,workers=2", Arm{Name: "pool,workers=2,env.GODEBUG=a-b", Mode: "pool", Flags: map[string]string{"workers": "2"}, Env: map[string]string{"GODEBUG": "a/b"}}, "GODEBUG=a/b schedlab"},
	} {
		got, err := ParseArm(c.text)
		if err != nil {
			t.Errorf("%q: %v", c.text, err)
			continue
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%q (-want +got):\n%s", c.text, diff)
		}
		line := strings.NewReplacer("'{addr}'", "{addr}").Replace(cmdline.Join(got.Argv("schedlab", 2.5, record.StampsOff)))
		if !strings.HasPrefix(line, c.argv) {
			t.Errorf("%q: runs %s, want %s", c.text, line, c.argv)
		}
	}
	for _, c := range []struct{ text, want string }{
		{"mine=SCHEDLAB_X=1 ./s {addr}", "SCHEDLAB_X would set a flag of our servers behind the plan's back; give the arm the flag itself, like workers=8"},
		{"prod=ftp://h/", `"ftp://h" is not http://host:port or https://host:port of a server that runs already (without a path: what is asked there is the scenario's)`},
		{"prod=http://a:b@h:1", `"http://a:b@h:1" is not http://host:port or https://host:port of a server that runs already (without a path: what is asked there is the scenario's)`},
		{"mine=A=1 B={addr}", "an arm needs a mode, a command or a url"},
	} {
		if _, err := ParseArm(c.text); err == nil || err.Error() != c.want {
			t.Errorf("%q: got %v, want %s", c.text, err, c.want)
		}
	}
}

func TestForeignArmsInYAML(t *testing.T) {
	t.Parallel()
	s := parsed(t, demo.Swap("  - nethttp\n  - fasthttp", `  - {mode: nethttp, env: {GOGC: 50}}
  - {name: mine, command: 'A=1 ./s {addr}', env: {GOMAXPROCS: 2}, metrics: 'http://{admin}/metrics', vary: {env.GOGC: [100, 'off']}}
  - {name: prod, url: 'http://127.0.0.1:9000', metrics: /metrics}`))
	var got []string
	for _, a := range s.Contestants() {
		got = append(got, a.Name+": "+a.Metrics+" "+strings.Join(a.Argv("schedlab", 2.5, record.StampsOff)[:max(1, len(a.Env))], " "))
	}
	want := []string{
		"nethttp,env.GOGC=50:  GOGC=50", "mine,env.GOGC=100: http://{admin}/metrics A=1 GOGC=100 GOMAXPROCS=2",
		"mine,env.GOGC=off: http://{admin}/metrics A=1 GOGC=off GOMAXPROCS=2", "prod: /metrics http://127.0.0.1:9000",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for _, c := range []struct{ arm, want string }{
		{"{mode: nethttp, metrics: /metrics}", "9:5: arms[1]: metrics says where another program shows its own; a mode's are read anyway"},
		{"{name: x, url: 'http://h:1', workers: 4}", "9:5: arms[1]: flags and vary of them belong to a mode; write a command's own flags into the command"},
		{"{name: x, url: 'http://h:1', vary: {env.A: [1]}}", "9:5: arms[1]: A: a server that runs already has its environment; set it where that is started"},
		{"{mode: nethttp, env: {SCHEDLAB_A: 1}}", "9:5: arms[1]: SCHEDLAB_A would set a flag of our servers behind the plan's back; give the arm the flag itself, like workers=8"},
		{"{mode: nethttp, env: {A: 1}, vary: {env.A: [1, 2]}}", "9:5: arms[1]: env.A has a value and is varied; drop one"},
		{"{mode: nethttp, env: {A: }}", "9:27: arms[1].env.A: has no value; give one or leave the key out"},
		{"{mode: nethttp, env: [A]}", "9:26: arms[1].env: want keys and values (NAME), not a list"},
		{`{mode: nethttp, env: {A: "b\nc"}}`, "9:5: arms[1]: A: a value is one line of text"},
	} {
		wantError(t, c.arm, demo.Arm(c.arm), c.want)
	}
}

// Where an arm's metrics are is told with its marks filled in, beside a server that
// runs already on that one's host.
func TestMetricsURL(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		arm  Arm
		want string
	}{
		{Arm{}, ""},
		{Arm{Metrics: "http://{admin}/m"}, "http://127.0.0.1:2/m"},
		{Arm{Metrics: "http://192.0.2.1/x?{addr}"}, "http://192.0.2.1/x?127.0.0.1:1"},
		{Arm{Metrics: ":9100/m", URL: "http://192.0.2.1"}, "http://192.0.2.1:9100/m"},
		{Arm{Metrics: "/m", URL: "http://192.0.2.1:8080"}, "http://192.0.2.1:8080/m"},
	} {
		if got := c.arm.MetricsURL(); got != c.want {
			t.Errorf("%+v: got %s, want %s", c.arm, got, c.want)
		}
	}
}
