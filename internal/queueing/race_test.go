//go:build race

package queueing

const raced = true
