package guest

// comparePool adds the change of the guest's pool.
func (c *comparison) comparePool() {
	d, o := c.want, c.live
	if d.Pool == "" || d.Pool == o.Pool || c.ignoresKey("pool") {
		return
	}
	c.add(Change{
		Key: "pool", From: o.Pool, To: d.Pool, Class: Live, Write: WritePool, Value: d.Pool, Origin: d.Origin,
		Note: "backup jobs and permissions may depend on the pool",
	})
}
