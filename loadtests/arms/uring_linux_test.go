package arms_test

import (
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

// forbidden is why there is no io_uring here, or 0: no entries are too few where it is allowed.
var forbidden = func() unix.Errno {
	var params [120]byte
	if _, _, errno := unix.Syscall(unix.SYS_IO_URING_SETUP, 0, uintptr(unsafe.Pointer(&params)), 0); errno != unix.EINVAL {
		return errno
	}
	return 0
}()

func init() {
	answering = append(answering, "uring -epoll", "uring -epoll -raw")
	if forbidden == 0 {
		answering = append(answering, "uring", "uring -raw")
	}
}

// The other tests leave io_uring out where it is forbidden, and this one says so.
func TestRingIsAllowed(t *testing.T) {
	if forbidden != 0 {
		t.Skipf("io_uring is forbidden here: %v", forbidden)
	}
}
