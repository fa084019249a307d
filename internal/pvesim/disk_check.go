package pvesim

import "strings"

var errArbitraryPath = apiErrorf("Only root can pass arbitrary filesystem paths. at /usr/share/perl5/PVE/Storage.pm line 651.")

// checkDisks rejects drives for reasons that are known before any work: unknown storages, file system paths, missing privileges. The
// state is locked.
func (c *call) checkDisks(kind Kind, p values) error {
	for _, slot := range diskSlots(kind, p) {
		d, err := parseDisk(kind, slot, p[slot])
		if err != nil {
			return err
		}
		if err := c.checkDisk(d); err != nil {
			return err
		}
	}
	return nil
}

func (c *call) checkDisk(d drive) error {
	f := d.file()
	switch {
	case f == "none":
		return nil
	case f == "cdrom": // the drive of the host
		return c.require("/", "Sys.Console")
	case strings.HasPrefix(f, "/"):
		return errArbitraryPath
	}
	if strings.HasPrefix(d.values["import-from"], "/") {
		return errArbitraryPath
	}
	id := d.storageOf()
	st := c.sim.storage(id)
	if st == nil {
		return apiErrorf("storage '%s' does not exist", id)
	}
	if d.isImport() {
		if err := c.checkImport(d.slot, d.values["import-from"]); err != nil {
			return err
		}
	}
	if d.isNew() || d.wantsCloudInit() {
		return c.require("/storage/"+id, "Datastore.AllocateSpace")
	}
	v, err := st.volumeFromName(f[len(id)+1:])
	if err != nil {
		return err
	}
	if v.Kind != "images" && v.Kind != "iso" {
		return paramError(d.slot, "content type needs to be 'images' or 'iso'")
	}
	return c.requireAny("/storage/"+id, "Datastore.Audit", "Datastore.AllocateSpace")
}

// checkImport checks the storage that an image is imported from.
func (c *call) checkImport(slot, id string) error {
	m := volumeID.FindStringSubmatch(id)
	if m == nil || c.sim.storage(m[1]) == nil {
		return apiErrorf("storage '%s' does not exist", strings.SplitN(id, ":", 2)[0])
	}
	if named, err := c.sim.storage(m[1]).volumeFromName(m[2]); err == nil && named.Kind != "images" && named.Kind != "import" {
		return paramError(slot, id+" has wrong type '"+named.Kind+"' - needs to be 'images' or 'import'")
	}
	if v := c.sim.volume(id); v != nil && v.Owner != 0 { // a disk of another guest, not an image
		return c.require("/vms/"+itoa(v.Owner), "VM.Clone")
	}
	return c.requireAny("/storage/"+m[1], "Datastore.Audit", "Datastore.AllocateSpace")
}
