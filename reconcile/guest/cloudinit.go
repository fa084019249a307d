package guest

// HasCloudInit reports whether a virtual machine has a cloud-init drive.
func HasCloudInit(o Observed) bool { return edit{live: &o}.hasCloudInit() }

// IsCloudInit reports whether a virtual machine's key goes into its cloud-init drive and nowhere else: it is written at once, and
// the drive tells of it when it is next made.
func IsCloudInit(key string) bool {
	r, known := find(VirtualMachine, key)
	return known && r.cost == cloudInitRule
}
