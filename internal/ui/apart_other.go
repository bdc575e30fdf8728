//go:build !linux

package ui

import (
	"os/exec"
	"syscall"
)

// apart puts a comparison into its own process group. Here it goes on to its end if this program is killed.
func apart(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }
