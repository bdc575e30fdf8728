package ui

import (
	"os/exec"
	"syscall"
)

// apart puts a comparison into its own process group, so that Ctrl-C on the terminal reaches it once, by
// us. If this program is killed, the kernel stops the comparison as Ctrl-C does, and its record is kept.
func apart(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGINT}
}
