//go:build !linux

package metrics

// Context switches and overflows are read from Linux only.
func (m *Metrics) watchSwitches() {}

// WatchOverflows adds nothing, because only Linux reports overflows.
func (m *Metrics) WatchOverflows() {}
