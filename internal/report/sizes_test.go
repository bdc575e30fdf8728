package report

import (
	"strings"
	"testing"

	"schedlab/internal/record"
)

func TestSizesSayWhatNamesLeaveOut(t *testing.T) {
	t.Parallel()
	arm := func(name, mode, flags string) record.Arm {
		return record.Arm{Name: name, Mode: mode, Command: "schedlab serve --mode " + mode + " --addr {addr}" + flags}
	}
	pool := arm("pool", "pool", " --queue-depth 1024 --workers 64")
	for _, c := range []struct {
		arms []record.Arm
		want string
	}{
		{[]record.Arm{arm("nethttp", "nethttp", ""), pool}, "pool has 64 workers"},
		{[]record.Arm{arm("pool", "pool-request", " --workers 4")}, "pool is pool-request with 4 workers"},
		{[]record.Arm{arm("plain", "nethttp", "")}, "plain is nethttp"},
		{[]record.Arm{arm("pool,workers=4", "pool", " --workers 4"), arm("nethttp,connections=8", "nethttp", "")}, ""},
		{[]record.Arm{arm("prefork", "prefork", " --processes 1 --threads 2")}, "prefork has 1 process and 2 threads"},
		{[]record.Arm{pool, {Name: "mine", Command: "./mine --workers 4"}, {Name: "pool'", Mode: "pool", Command: pool.Command, Role: record.Copy}}, "pool has 64 workers"},
		{[]record.Arm{pool, pool, pool, pool}, ""},
	} {
		if got := strings.ReplaceAll(sizes(c.arms), nbsp, " "); got != c.want {
			t.Errorf("got %q, want %q", got, c.want)
		}
	}
}
