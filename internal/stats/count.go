package stats

// Count is 1 of true and 0 of false, to add up how often something is so.
func Count(is bool) int {
	if is {
		return 1
	}
	return 0
}
