package main

import (
	"errors"
	"fmt"
	"log"
	"net"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"runtime/debug"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"schedlab/loadtests/arms/quiet"
)

// become starts the process that carries the bytes, and replaces this one by the command. It returns only with an error.
func become(delay time.Duration, listen, admin string, command []string) error {
	path, err := exec.LookPath(command[0])
	if err != nil {
		return err
	}
	listener, address, err := listenAt(listen)
	if err != nil {
		return err
	}
	server, err := serverAddress(address)
	if err != nil {
		return err
	}
	// The reading end tells when the last process has ended that has the writing end: the server, or a child of it.
	alive, held, err := os.Pipe()
	if err != nil {
		return err
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	cmd := exec.Command(self, detachWord, delay.String(), server)
	cmd.Stderr, cmd.ExtraFiles = os.Stderr, []*os.File{listener, alive}
	if admin != "" {
		pages, _, err := listenAt(admin)
		if err != nil {
			return err
		}
		cmd.Args, cmd.ExtraFiles = append(cmd.Args, hasAdmin), append(cmd.ExtraFiles, pages)
	}
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("starting the process that carries the bytes: %w", err)
	}
	if _, err := unix.FcntlInt(held.Fd(), unix.F_SETFD, 0); err != nil { // kept by the command
		return fmt.Errorf("fcntl: %w", err)
	}
	words := make([]string, len(command))
	for i, w := range command {
		words[i] = strings.ReplaceAll(w, serverMark, server)
	}
	err = syscall.Exec(path, words, os.Environ())
	runtime.KeepAlive(held)
	return fmt.Errorf("starting %s: %w", path, err)
}

// listenAt returns a listening socket that Go's poller does not watch, and its address.
func listenAt(address string) (*os.File, *net.TCPAddr, error) {
	l, err := net.Listen("tcp4", address)
	if err != nil {
		return nil, nil, err
	}
	defer l.Close()
	file, err := l.(*net.TCPListener).File()
	return file, l.Addr().(*net.TCPAddr), err
}

// serverAddress returns an address for the server: the same port of another loopback address, or another port where that is
// taken. No client's connection takes it, as those get the ports and addresses that the kernel chooses.
func serverAddress(listen *net.TCPAddr) (string, error) {
	var all error
	for _, port := range []int{listen.Port, 0} {
		l, err := net.Listen("tcp4", fmt.Sprintf("127.0.0.2:%d", port))
		if err == nil {
			defer l.Close()
			return l.Addr().String(), nil
		}
		all = errors.Join(all, err)
	}
	return "", all
}

// detach starts carry and ends, so that carry is no child of the server: its CPU time is not the server's. It has the CPUs
// that the server may not use, and where there are no others the server's.
func detach(args []string) error {
	runtime.LockOSThread() // a process inherits CPUs and priority of the thread that starts it
	var servers, others unix.CPUSet
	if err := unix.SchedGetaffinity(0, &servers); err != nil {
		return fmt.Errorf("reading the CPU affinity: %w", err)
	}
	for cpu := range 64 * len(others) {
		if !servers.IsSet(cpu) {
			others.Set(cpu)
		}
	}
	// EINVAL: there are no others, so it keeps the server's.
	if err := unix.SchedSetaffinity(0, &others); err != nil && err != unix.EINVAL {
		return fmt.Errorf("setting the CPU affinity: %w", err)
	}
	setRealtime()
	self, err := os.Executable()
	if err != nil {
		return err
	}
	cmd := exec.Command(self, append([]string{carryWord}, args...)...)
	cmd.Stderr = os.Stderr
	fds := 2
	if len(args) > 2 { // hasAdmin
		fds++
	}
	for fd := range fds {
		cmd.ExtraFiles = append(cmd.ExtraFiles, os.NewFile(uintptr(listenerFD+fd), "inherited"))
	}
	return cmd.Start()
}

// The descriptors that carry inherits, the last one if its arguments end with hasAdmin.
const (
	listenerFD = iota + 3
	aliveFD
	adminFD

	hasAdmin = "admin"
)

// carry carries the bytes: args are the delay and the server's address, and hasAdmin if there is a listener for metrics.
func carry(args []string) error {
	delay, err := time.ParseDuration(args[0])
	if err != nil {
		return err
	}
	address, err := net.ResolveTCPAddr("tcp4", args[1])
	if err != nil {
		return err
	}
	// The server ends at these, and then this process does.
	signal.Ignore(unix.SIGINT, unix.SIGTERM, unix.SIGHUP)
	quiet.SecondP()
	// Buffers are used again, so little is left to collect, and a collection would make bytes late.
	debug.SetGCPercent(-1)
	debug.SetMemoryLimit(512 << 20)
	late := newLateness(delay, isRealtime())
	l, err := newLoop(listenerFD, aliveFD, address, delay, true, late.observe)
	if err != nil {
		return err
	}
	if len(args) > 2 {
		pages, err := net.FileListener(os.NewFile(adminFD, "admin"))
		if err != nil {
			return err
		}
		server := &http.Server{Handler: late.page()}
		served := make(chan error, 1)
		go func() { served <- server.Serve(pages) }()
		defer func() {
			_ = server.Close()
			if err := <-served; !errors.Is(err, http.ErrServerClosed) {
				log.Print("serving the metrics: ", err)
			}
		}()
	}
	if err := l.run(); err != nil {
		return err
	}
	log.Print(late.summary())
	return nil
}

// setRealtime lets this thread, and what it starts, run before all that are not real-time, as a kernel's own work for the network
// does, and before a load that shares its CPU (SCHED_RR, 1). Where that is not permitted, isRealtime tells.
//
// All threads of carry must have it: Go's runtime stops a goroutine that runs for 10 ms, and another thread may go on with it.
func setRealtime() {
	_ = unix.Prctl(unix.PR_SET_TIMERSLACK, 1, 0, 0, 0) // waits end up to 50 µs late without it, unless they are real-time
	_ = unix.SchedSetAttr(0, &unix.SchedAttr{Policy: unix.SCHED_FIFO, Priority: 2}, 0)
}

// isRealtime reports whether this thread is real-time.
func isRealtime() bool {
	attr, err := unix.SchedGetAttr(0, 0)
	return err == nil && attr.Policy == unix.SCHED_FIFO
}
