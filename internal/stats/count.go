package stats

// Count returns 1 for true and 0 for false, to count how often something is so.
func Count(is bool) int {
	if is {
		return 1
	}
	return 0
}
