package model

// Plus is the sum of two readings of different servers.
func (c Counts) Plus(d Counts) Counts {
	c.Accepted += d.Accepted
	c.Done += d.Done
	c.GaveUp += d.GaveUp
	for i := range c.Rejected {
		c.Rejected[i] += d.Rejected[i]
		c.Dropped[i] += d.Dropped[i]
	}
	c.Open += d.Open
	return c
}

// Plus is the sum of two readings of different models.
func (c RequestCounts) Plus(d RequestCounts) RequestCounts {
	c.Started += d.Started
	c.Aborted += d.Aborted
	c.GaveUp += d.GaveUp
	c.Panics += d.Panics
	for i, n := range d.Shed {
		c.Shed[i] += n
	}
	for i, n := range d.Refused {
		c.Refused[i] += n
	}
	return c
}
