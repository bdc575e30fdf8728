package process

import (
	"os/exec"
	"syscall"
)

// isolate puts a server into its own process group, so that Ctrl-C reaches only this program, and
// makes the kernel kill it when its launcher's thread ends. The server is then the leader of the
// group, so that Kill reaches its children, too.
func isolate(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
