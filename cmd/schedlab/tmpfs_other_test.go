//go:build !linux

package main

import "github.com/rogpeppe/go-internal/testscript"

func scriptTmpfs(ts *testscript.TestScript, _ bool, _ []string) {
	notRunScript(ts, "only Linux mounts a tmpfs")
}
