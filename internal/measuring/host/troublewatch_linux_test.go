package host

import (
	"os"
	"testing"
)

// A look sees this process, its threads and every CPU it may use, and grows with time.
func TestLookAtMachine(t *testing.T) {
	t.Parallel()
	first, second := lookAtMachine(), lookAtMachine()
	if len(first.cpus) == 0 || len(second.cpus) == 0 {
		t.Fatal("this machine tells nothing of its CPUs")
	}
	may, err := Affinity()
	if err != nil {
		t.Fatal(err)
	}
	for _, cpu := range may {
		if c, there := first.cpus[cpu]; !there || c.idle+c.busy <= 0 {
			t.Errorf("CPU %d: got %+v", cpu, c)
		}
	}
	me := os.Getpid()
	if p := first.programs[me]; p.parent != os.Getppid() || p.began == 0 || p.name == "" {
		t.Errorf("this process: got %+v", p)
	}
	if len(first.threads) == 0 {
		t.Error("no thread of this process is seen")
	}
	if second.programs[me].used < first.programs[me].used {
		t.Error("CPU time went backwards")
	}
}
