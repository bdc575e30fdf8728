package main

import (
	"os"
	"syscall"

	"github.com/rogpeppe/go-internal/testscript"
)

func scriptTmpfs(ts *testscript.TestScript, neg bool, a []string) {
	args(ts, neg, a, 2, 2)
	dir := ts.MkAbs(a[0])
	ts.Check(os.MkdirAll(dir, 0o755))
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size="+a[1]); err != nil {
		notRunScript(ts, "mounting a tmpfs: %v", err)
	}
	ts.Defer(func() { ts.Check(syscall.Unmount(dir, syscall.MNT_DETACH)) })
}
