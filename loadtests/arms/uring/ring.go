//go:build linux

package main

import (
	"errors"
	"fmt"
	"runtime"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"
)

// What the kernel calls these is in linux/io_uring.h, and io_uring(7) describes them.
const (
	opAccept, opRead, opSend, opRecv = 13, 22, 26, 27

	setupCQSize, setupSubmitAll, setupSingleIssuer, setupDeferTaskrun = 1 << 3, 1 << 7, 1 << 12, 1 << 13
	enterGetEvents, enterRegisteredRing                               = 1, 1 << 4
	registerRings, registerBufferRing                                 = 20, 22
	offsetOfRequests                                                  = 0x10000000

	selectBuffer      = 1 << 5 // of a request: the kernel takes a buffer of the group
	acceptMore        = 1 << 0 // of an accept, in ioprio: it goes on after the first
	recvMore          = 1 << 1 // of a recv, in ioprio
	moreFollow        = 1 << 1 // of a completion: its request goes on
	bufferNumberShift = 16     // of a completion's flags
)

// Sizes of a ring: requests that are submitted at once, completions that wait, and the buffers that the kernel
// receives into.
const (
	requests    = 4096
	completions = 32768
	buffers     = 4096
	bufferSize  = 4096
	group       = 1
)

type offsets struct {
	Head, Tail, RingMask, RingEntries, Flags, Dropped, Array, Reserved uint32
	UserAddr                                                           uint64
}

type completionOffsets struct {
	Head, Tail, RingMask, RingEntries, Overflow, Completions, Flags, Reserved uint32
	UserAddr                                                                  uint64
}

type setup struct {
	Requests, Completions, Flags, ThreadCPU, ThreadIdle, Features, WorkersOf uint32
	Reserved                                                                 [3]uint32
	Request                                                                  offsets
	Completion                                                               completionOffsets
}

// A request asks the kernel for something. User is given back with its completion.
type request struct {
	Op, Flags          uint8
	Priority           uint16
	FD                 int32
	Offset, Addr       uint64
	Len, OpFlags       uint32
	User               uint64
	Group, Personality uint16
	Splice             int32
	Addr3, Reserved    uint64
}

type completion struct {
	User  uint64
	Res   int32
	Flags uint32
}

type buffer struct {
	Addr   uint64
	Len    uint32
	Number uint16
	Tail   uint16 // of the ring of buffers, in its first entry
}

// A ring is an io_uring with buffers to receive into. Only the thread that made it may use it.
type ring struct {
	fd, flags uintptr
	raw       bool // wait in a system call that Go's scheduler does not know of

	requests              []request
	requestHead, newest   *uint32
	requestMask, tail     uint32
	pending               uint32
	completions           []completion
	oldest, completedTail *uint32
	completionMask        uint32

	memory    []byte // of the buffers
	free      []buffer
	freeTail  uint16
	published *uint16
}

// newRing makes a ring. An error says whether it is forbidden here.
func newRing(raw bool) (*ring, error) {
	p := setup{Flags: setupSingleIssuer | setupDeferTaskrun | setupCQSize | setupSubmitAll, Completions: completions}
	fd, _, errno := unix.Syscall(unix.SYS_IO_URING_SETUP, requests, uintptr(unsafe.Pointer(&p)), 0)
	switch {
	case errno == unix.EPERM || errno == unix.EACCES || errno == unix.ENOSYS:
		return nil, fmt.Errorf("io_uring is not allowed here (%w): the sysctl kernel.io_uring_disabled or a seccomp filter, as containers have it, forbids it", errno)
	case errno == unix.EINVAL:
		return nil, errors.New("this kernel's io_uring is too old: Linux 6.1 or later is needed")
	case errno != 0:
		return nil, fmt.Errorf("io_uring_setup: %w", errno)
	}
	size := max(int(p.Request.Array+p.Requests*4), int(p.Completion.Completions+p.Completions*uint32(unsafe.Sizeof(completion{}))))
	shared, err := unix.Mmap(int(fd), 0, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED|unix.MAP_POPULATE)
	if err != nil {
		return nil, fmt.Errorf("mapping the ring: %w", err)
	}
	asked, err := unix.Mmap(int(fd), offsetOfRequests, int(p.Requests)*int(unsafe.Sizeof(request{})), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED|unix.MAP_POPULATE)
	if err != nil {
		return nil, fmt.Errorf("mapping the requests: %w", err)
	}
	word := func(at uint32) *uint32 { return (*uint32)(unsafe.Pointer(&shared[at])) }
	r := &ring{
		fd: fd, flags: enterGetEvents, raw: raw,
		requests:    unsafe.Slice((*request)(unsafe.Pointer(&asked[0])), p.Requests),
		requestHead: word(p.Request.Head), newest: word(p.Request.Tail), requestMask: *word(p.Request.RingMask),
		completions: unsafe.Slice((*completion)(unsafe.Pointer(&shared[p.Completion.Completions])), p.Completions),
		oldest:      word(p.Completion.Head), completedTail: word(p.Completion.Tail), completionMask: *word(p.Completion.RingMask),
	}
	order := unsafe.Slice(word(p.Request.Array), p.Requests)
	for i := range order {
		order[i] = uint32(i)
	}
	r.tail = *r.newest
	if err := r.addBuffers(); err != nil {
		return nil, err
	}
	// A registered ring needs no look-up of its descriptor. Where that is refused, it is looked up.
	update := struct {
		Offset, Reserved uint32
		Data             uint64
	}{^uint32(0), 0, uint64(fd)}
	if _, _, errno := unix.Syscall6(unix.SYS_IO_URING_REGISTER, fd, registerRings, uintptr(unsafe.Pointer(&update)), 1, 0, 0); errno == 0 {
		r.fd, r.flags = uintptr(update.Offset), enterGetEvents|enterRegisteredRing
	}
	return r, nil
}

// addBuffers gives the kernel its buffers. They lie outside Go's heap, where nothing but the kernel writes.
func (r *ring) addBuffers() (err error) {
	anonymous := func(size int) ([]byte, error) {
		return unix.Mmap(-1, 0, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
	}
	if r.memory, err = anonymous(buffers * bufferSize); err != nil {
		return fmt.Errorf("memory of the buffers: %w", err)
	}
	entries, err := anonymous(buffers * int(unsafe.Sizeof(buffer{})))
	if err != nil {
		return fmt.Errorf("memory of the ring of buffers: %w", err)
	}
	r.free = unsafe.Slice((*buffer)(unsafe.Pointer(&entries[0])), buffers)
	r.published = &r.free[0].Tail
	ask := struct {
		Addr         uint64
		Entries      uint32
		Group, Flags uint16
		Reserved     [3]uint64
	}{Addr: uint64(uintptr(unsafe.Pointer(&entries[0]))), Entries: buffers, Group: group}
	if _, _, errno := unix.Syscall6(unix.SYS_IO_URING_REGISTER, r.fd, registerBufferRing, uintptr(unsafe.Pointer(&ask)), 1, 0, 0); errno != 0 {
		return fmt.Errorf("registering the ring of buffers: %w", errno)
	}
	for i := range buffers {
		r.release(uint16(i))
	}
	r.publish()
	return nil
}

// release puts a buffer back; the kernel sees it after publish.
func (r *ring) release(number uint16) {
	b := &r.free[r.freeTail%buffers]
	b.Addr = uint64(uintptr(unsafe.Pointer(&r.memory[int(number)*bufferSize])))
	b.Len, b.Number = bufferSize, number
	r.freeTail++
}

// publish shows the kernel the buffers that were released. The kernel takes them in system calls of this thread alone
// (setupDeferTaskrun), so a plain store is enough.
func (r *ring) publish() { *r.published = r.freeTail }

// next returns an empty request, which the next wait submits.
func (r *ring) next() *request {
	for r.tail-atomic.LoadUint32(r.requestHead) >= uint32(len(r.requests)) {
		r.submit()
	}
	q := &r.requests[r.tail&r.requestMask]
	*q = request{}
	r.tail++
	r.pending++
	return q
}

// submit gives the kernel what next returned, and fetches what is complete, without waiting.
func (r *ring) submit() unix.Errno {
	atomic.StoreUint32(r.newest, r.tail)
	n, _, errno := unix.RawSyscall6(unix.SYS_IO_URING_ENTER, r.fd, uintptr(r.pending), 0, r.flags, 0, 0)
	if errno == 0 {
		r.pending -= uint32(n)
	}
	return errno
}

// wait submits what next returned and returns when at least one request is complete.
func (r *ring) wait() error {
	for {
		errno := unix.Errno(0)
		if !r.raw {
			// What does not wait is done without telling Go's scheduler.
			errno = r.submit()
		}
		if *r.oldest == atomic.LoadUint32(r.completedTail) && (errno == 0 || errno == unix.EINTR) {
			errno = r.block()
		}
		switch {
		case errno == unix.EINTR || errno == unix.EAGAIN || errno == unix.EBUSY:
			runtime.Gosched()
		case errno != 0:
			return fmt.Errorf("io_uring_enter: %w", errno)
		}
		if *r.oldest != atomic.LoadUint32(r.completedTail) {
			return nil
		}
	}
}

func (r *ring) block() unix.Errno {
	atomic.StoreUint32(r.newest, r.tail)
	call := unix.Syscall6
	if r.raw {
		call = unix.RawSyscall6
	}
	n, _, errno := call(unix.SYS_IO_URING_ENTER, r.fd, uintptr(r.pending), 1, r.flags, 0, 0)
	if errno == 0 {
		r.pending -= uint32(n)
	}
	return errno
}

// each calls do with every completion that has come, and then frees their places.
func (r *ring) each(do func(completion)) {
	head, tail := *r.oldest, atomic.LoadUint32(r.completedTail)
	for ; head != tail; head++ {
		do(r.completions[head&r.completionMask])
	}
	r.publish()
	atomic.StoreUint32(r.oldest, head)
}

// received returns the bytes of a recv's completion, and the number of their buffer.
func (r *ring) received(c completion) ([]byte, uint16) {
	number := uint16(c.Flags >> bufferNumberShift)
	return r.memory[int(number)*bufferSize:][:c.Res], number
}
