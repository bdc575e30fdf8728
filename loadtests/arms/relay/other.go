//go:build !linux

package main

import (
	"errors"
	"time"
)

var errLinux = errors.New("epoll is Linux's")

func become(time.Duration, string, string, []string) error { return errLinux }
func detach([]string) error                                { return errLinux }
func carry([]string) error                                 { return errLinux }
