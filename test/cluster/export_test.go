package cluster

// Writes is what wakes Await.
func (c *Cluster) Writes(about string) (writes <-chan struct{}, stop func()) {
	return c.changes.subscribe(c, about)
}
