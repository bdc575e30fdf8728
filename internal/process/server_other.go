//go:build !linux

package process

import (
	"os/exec"
	"syscall"
)

// isolate puts a server into its own process group. Here no signal ends it when this program dies.
func isolate(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }
