//go:build !linux

package experiment

// listens is for Linux alone.
func (p *process) listens() bool { return false }
