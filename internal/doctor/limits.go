package doctor

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// A Limit is one of the kernel's on a process: what holds now, and how far the
// process may raise it.
type Limit struct{ Soft, Hard uint64 }

const (
	keptFree        = 64     // descriptors that a server does not give to connections
	fewConnections  = 1024   // fewer spoil even small scenarios
	mostConnections = 10_000 // that a server takes unless told otherwise
)

func (m *Machine) descriptors() seen {
	if m.Files == (Limit{}) {
		return seen{}
	}
	connections := m.Files.Soft - min(m.Files.Soft, keptFree)
	s := fine("%d descriptors, hard limit %d: %d connections in each process", m.Files.Soft, m.Files.Hard, connections)
	fix := "ulimit -n 65536 in the shell that starts schedlab"
	if m.Files.Hard < 65536 {
		fix = "as root: prlimit --nofile=65536:65536 --pid $$ in the shell that starts schedlab; for good: nofile in /etc/security/limits.conf, or LimitNOFILE= of the service"
	}
	return s.graded(connections < fewConnections, connections < mostConnections, fix)
}

const (
	fewPorts    = 10_000
	tooFewPorts = 2_000 // a quick trial at its lowest rate takes 1,540
	quickSpan   = 0.7   // seconds of a quick trial, warm-up included
)

// ports counts what a trial may use up: each has a server port of its own, and a
// socket in TIME_WAIT keeps a local port from that server's only.
func (m *Machine) ports() seen {
	var from, to int
	if _, err := fmt.Sscan(m.text("proc/sys/net/ipv4/ip_local_port_range"), &from, &to); err != nil {
		return unknown("the range of local ports is not told here")
	}
	n := to - from + 1
	s := fine("%d local ports, so as many connections a window, %.0f/s in a quick one", n, float64(n)/quickSpan)
	for line := range strings.Lines(m.text("proc/net/sockstat")) {
		waiting := 0
		if _, rest, ok := strings.Cut(line, " tw "); !ok || !strings.HasPrefix(line, "TCP:") {
			continue
		} else if _, err := fmt.Sscan(rest, &waiting); err == nil {
			s.found += fmt.Sprintf("; %d sockets in TIME_WAIT, in the way of load on the same server only", waiting)
		}
	}
	return s.graded(n < tooFewPorts, n < fewPorts, "sysctl -w net.ipv4.ip_local_port_range='1024 65535'")
}

const (
	smallBacklog = 1024
	tinyBacklog  = 128
	smallSyn     = 256
)

func (m *Machine) backlog() seen {
	accept, ok := m.number("proc/sys/net/core/somaxconn")
	if !ok {
		return unknown("net.core.somaxconn is not told here")
	}
	s := fine("somaxconn %d", accept)
	syn, known := m.number("proc/sys/net/ipv4/tcp_max_syn_backlog")
	if known {
		s.found += fmt.Sprintf(" and tcp_max_syn_backlog %d", syn)
	}
	var fixes []string
	if accept < smallBacklog {
		fixes = append(fixes, "net.core.somaxconn=4096")
	}
	if known && syn < smallSyn {
		fixes = append(fixes, "net.ipv4.tcp_max_syn_backlog=4096")
	}
	return s.graded(accept < tinyBacklog, len(fixes) > 0, "sysctl -w "+strings.Join(fixes, " "))
}

const (
	littleMemory = 1 << 30
	tooLittle    = 256 << 20
	mebibyte     = 1 << 20
)

func (m *Machine) memory() seen {
	free, ok := m.kibibytes("MemAvailable")
	if !ok {
		return unknown("the memory available is not told here")
	}
	return fine("%d MiB available", free/mebibyte).graded(free < tooLittle, free < littleMemory,
		"end programs that hold memory (ps -e -o pid,rss,comm --sort=-rss | head), or use a larger machine")
}

const littleSwap = 16 << 20

func (m *Machine) swap() seen {
	total, ok := m.kibibytes("SwapTotal")
	free, ok2 := m.kibibytes("SwapFree")
	if !ok || !ok2 {
		return unknown("swap is not told here")
	}
	used := total - min(total, free)
	if used <= littleSwap {
		return fine("%d of %d MiB in use", used/mebibyte, total/mebibyte)
	}
	return seen{Warn, fmt.Sprintf("%d of %d MiB in use", used/mebibyte, total/mebibyte), "as root: swapoff -a && swapon -a, which brings all pages back; it needs that much free memory"}
}

// unwritable stands between a path and the cause.
const unwritable = " cannot be written: "

// leastRoom is what a record proves to be there before load starts, twice.
const leastRoom = 2 << 20

func (m *Machine) output() seen {
	if m.Out == "" {
		return seen{}
	}
	elsewhere := "--out DIR in a directory that can be written"
	blocked := func(err error, fix string) seen {
		return seen{Bad, fmt.Sprintf("%s"+unwritable+"%v", m.Out, err), fix}
	}
	dir, err := existing(m.Out)
	if err == nil {
		err = unix.Access(dir, unix.W_OK|unix.X_OK)
	}
	if err != nil {
		fix := elsewhere
		if errors.Is(err, unix.EROFS) {
			fix += ", or as root: mount -o remount,rw on the file system of " + dir
		}
		return blocked(err, fix)
	}
	var disk unix.Statfs_t
	if err := unix.Statfs(dir, &disk); err != nil {
		return unknown("%s can be written; its free space is not told: %v", m.Out, err)
	}
	if disk.Blocks == 0 {
		return blocked(errors.New("its file system has no room for files"), elsewhere)
	}
	free := uint64(disk.Bavail) * uint64(disk.Bsize)
	if free >= max(leastRoom, m.Need) {
		return fine("%s can be written, %d MiB free", m.Out, free/mebibyte)
	}
	return fine("only %d MiB free in %s; a record takes up to %d MiB", free/mebibyte, m.Out, m.Need/mebibyte).
		graded(free < leastRoom, true, "make room there, or use --out DIR on another file system")
}

// existing is path, or the nearest directory above it that exists: where it would
// be made.
func existing(path string) (string, error) {
	path, err := filepath.Abs(path)
	for err == nil {
		var info fs.FileInfo
		info, err = os.Stat(path)
		switch {
		case err == nil && !info.IsDir():
			return "", fmt.Errorf("%s is no directory", path)
		case err == nil:
			return path, nil
		case errors.Is(err, fs.ErrNotExist) && path != filepath.Dir(path):
			path, err = filepath.Dir(path), nil
		}
	}
	return "", err
}
