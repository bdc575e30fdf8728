//go:build !linux

package model

func received(int) (uint64, error)                  { return 0, errLinuxOnly }
func acceptQueue(int) (depth, limit int, err error) { return 0, 0, errLinuxOnly }
func ignoreNew(int) error                           { return errLinuxOnly }
func dealAtRandom(int, int) error                   { return errLinuxOnly }
func dealToFirst(int) error                         { return errLinuxOnly }
func hungUp(int) bool                               { return false }
