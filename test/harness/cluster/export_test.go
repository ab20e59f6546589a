package cluster

// Writes returns the notifications that wake Await.
func (c *Cluster) Writes(about string) (writes <-chan struct{}, stop func()) {
	return c.changes.subscribe(c, about)
}
