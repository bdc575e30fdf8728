package process

import (
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"schedlab/internal/host"
)

// isolate puts a server into its own process group, so that Ctrl-C reaches only this program, and
// makes the kernel kill it when its launcher's thread ends. The server is then the leader of the
// group, so that Kill reaches its children, too.
func isolate(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

// listens reports whether the server, or a descendant of it, holds a listening socket at the server's port, so
// that no other program replies there. It looks at the sockets of these processes: the kernel's table of all
// sockets would be long, because it has every connection that closed within the last minute.
//
// It copies each socket of the server into this process with pidfd_getfd(2), and asks the kernel
// whether the copy listens and where. That works for any program, without its help.
func (p *Process) listens() bool {
	addr, err := netip.ParseAddrPort(p.Addr)
	if err != nil {
		return false
	}
	for _, pid := range host.Family(p.Pid()) {
		// A process that has just ended is no error.
		handle, err := unix.PidfdOpen(pid, 0)
		if err != nil {
			continue
		}
		found := holdsListener(handle, pid, addr.Port())
		_ = unix.Close(handle)
		if found {
			return true
		}
	}
	return false
}

// holdsListener reports whether a process has a socket that listens at port. It reports false if this program
// may not see the process's sockets. handle is a pidfd of the process, and pid its number.
func holdsListener(handle, pid int, port uint16) bool {
	dir := fmt.Sprintf("/proc/%d/fd", pid)
	files, err := os.ReadDir(dir)
	if err != nil {
		return false
	}
	for _, f := range files {
		number, err := strconv.Atoi(f.Name())
		if link, _ := os.Readlink(dir + "/" + f.Name()); err != nil || !strings.HasPrefix(link, "socket:") {
			continue
		}
		// The copy refers to the same socket. Closing it leaves the server's own descriptor open.
		fd, err := unix.PidfdGetfd(handle, number, 0)
		if err != nil {
			continue
		}
		found := takesConnections(fd, port)
		_ = unix.Close(fd)
		if found {
			return true
		}
	}
	return false
}

// takesConnections reports whether the socket fd listens at port. It reports false for any other file.
func takesConnections(fd int, port uint16) bool {
	if accepts, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_ACCEPTCONN); err != nil || accepts == 0 {
		return false
	}
	name, err := unix.Getsockname(fd)
	if err != nil {
		return false
	}
	switch at := name.(type) {
	case *unix.SockaddrInet4:
		return at.Port == int(port)
	case *unix.SockaddrInet6:
		return at.Port == int(port)
	}
	return false
}
