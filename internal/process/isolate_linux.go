package process

import (
	"os/exec"
	"syscall"
)

// isolate puts a server into its own process group, so that Ctrl-C reaches only
// us, and makes the kernel end it when its launcher's thread ends.
func isolate(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
