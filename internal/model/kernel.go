package model

import "errors"

// errLinuxOnly says that this kernel does not tell: a backlog then cannot be
// read back, and a drain waits for connections or cuts them at its timeout.
var errLinuxOnly = errors.New("only Linux tells this of a socket")
