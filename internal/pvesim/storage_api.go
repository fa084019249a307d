package pvesim

import (
	"maps"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"time"

	"gitops-agent/internal/pvesim/configtext"
)

func storageRoutes() []*route {
	audit := func(c *call) error {
		return c.requireAny("/storage/"+c.vars["storage"], "Datastore.Audit", "Datastore.AllocateSpace")
	}
	return []*route{
		downloadRoute(),
		readRoute("/nodes/{node}/storage", storageList).withParams(map[string]rule{
			"content": text(), "enabled": boolean(), "format": boolean(), "storage": text(), "target": text(),
		}),
		indexRoute("/nodes/{node}/storage/{storage}", "subdir", "content", "download-url", "file-restore", "import-metadata", "oci-registry-pull",
			"prunebackups", "rrd", "rrddata", "status", "upload").withPermission(audit),
		readRoute("/nodes/{node}/storage/{storage}/status", storageStatus).withPermission(audit),
		readRoute("/nodes/{node}/storage/{storage}/content/{volume}", volumeInfo).withPermission(audit),
		writeRoute(http.MethodPost, "/nodes/{node}/storage/{storage}/content", allocateVolume).withParams(map[string]rule{
			"vmid": vmidRule.needed(), "filename": text().needed(), "size": matching(`\d+[MG]?`).needed(), "format": enum("raw", "qcow2", "subvol", "vmdk"),
		}).withPermission(func(c *call) error { return c.require("/storage/"+c.vars["storage"], "Datastore.AllocateSpace") }),
		readRoute("/nodes/{node}/storage/{storage}/content", storageContent).withParams(map[string]rule{"content": checked(checkContentType), "vmid": vmidRule}).withPermission(audit),
		writeRoute(http.MethodDelete, "/nodes/{node}/storage/{storage}/content/{volume}", deleteVolume).withParams(map[string]rule{"delay": integer().atLeast(1).atMost(30)}),
		writeRoute(http.MethodPut, "/nodes/{node}/storage/{storage}/content/{volume}", changeVolume).withParams(map[string]rule{"notes": text(), "protected": boolean()}),
	}
}

func (st *storage) used() int64 {
	switch {
	case st.full:
		return st.Size
	case st.Thick:
		return st.allocatedBytes()
	}
	n := int64(usedDisk)
	for _, v := range st.volumes {
		n += v.Size / 1000 // thin: the part that is written, not the whole size
	}
	return min(n, st.Size)
}

func (st *storage) shared() int64 { return boolToInt(st.Shared) }

// resource returns the row of a storage of a node. After the last broadcast of the node it shows no sizes.
func (st *storage) resource(node string, expired bool) *object {
	o := &object{}
	o.str("id", "storage/"+node+"/"+st.ID)
	o.str("type", "storage")
	o.str("storage", st.ID)
	o.str("node", node)
	o.str("plugintype", st.Type)
	o.str("content", st.contents())
	o.num("shared", st.shared())
	if expired {
		o.str("status", "unknown")
		return o
	}
	o.str("status", "available")
	o.num("maxdisk", st.Size)
	o.num("disk", st.used())
	return o
}

// isOn reports whether a node has the storage.
func (st *storage) isOn(node string) bool {
	return st.Nodes == "" || slices.Contains(listOf(st.Nodes), node)
}

func (st *storage) writeStatus(o *object) {
	o.str("type", st.Type)
	o.str("content", st.contents())
	o.num("enabled", 1)
	o.num("active", 1)
	o.num("shared", st.shared())
	o.num("total", st.Size)
	o.num("used", st.used())
	o.num("avail", st.Size-st.used())
}

// contents returns the content types in another order every time, as Proxmox does.
func (st *storage) contents() string {
	list := listOf(st.Content)
	rand.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
	return strings.Join(list, ",")
}

func storageList(c *call) (reply, error) {
	var a array
	for _, st := range c.sim.storages {
		if want := c.params["content"]; want != "" && !strings.Contains(","+st.Content+",", ","+want+",") {
			continue
		}
		if c.requireAny("/storage/"+st.ID, "Datastore.Audit", "Datastore.AllocateSpace") != nil {
			continue
		}
		var o object
		o.str("storage", st.ID)
		if !st.isOn(c.node()) {
			o.str("type", st.Type)
			o.str("content", st.contents())
			for _, k := range []string{"enabled", "active", "total", "used", "avail"} {
				o.num(k, 0)
			}
			o.num("shared", st.shared())
			a.add(&o)
			continue
		}
		st.writeStatus(&o)
		o.float("used_fraction", float64(st.used())/float64(st.Size))
		if c.flag("format") {
			st.writeFormats(&o)
		}
		a.add(&o)
	}
	return dataReply(a.bytes())
}

// writeFormats adds the formats of volumes that the storage can hold, in the old and in the new form.
func (st *storage) writeFormats(o *object) {
	names := []string{"raw"}
	if st.Type == "dir" {
		names = []string{"qcow2", "raw", "subvol", "vmdk"}
	}
	var flags, formats object
	for _, n := range names {
		flags.num(n, 1)
	}
	var old array
	old.raw(flags.bytes())
	old.raw(jsonString("raw"))
	o.raw("format", old.bytes())
	formats.str("default", "raw")
	formats.raw("supported", stringArray(names))
	o.raw("formats", formats.bytes())
}

func (c *call) storage() (*storage, error) {
	if st := c.sim.storage(c.vars["storage"]); st != nil {
		return st, nil
	}
	return nil, apiErrorf("storage '%s' does not exist", c.vars["storage"])
}

func storageStatus(c *call) (reply, error) {
	st, err := c.storage()
	if err != nil {
		return reply{}, paramError("storage", "No such storage.")
	}
	var o object
	st.writeStatus(&o)
	return dataReply(o.bytes())
}

func storageContent(c *call) (reply, error) {
	st, err := c.storage()
	if err != nil {
		return reply{}, err
	}
	owner := atoi(c.params["vmid"])
	var a array
	for _, name := range slices.Sorted(maps.Keys(st.volumes)) {
		v := st.volumes[name]
		// an owner filters what has one: images and backups
		if want := c.params["content"]; want != "" && want != v.Kind || owner != 0 && v.Owner != owner && !ownerless[v.Kind] {
			continue
		}
		if v.isOn(c.node()) && c.permitVolume(st, v) {
			a.add(v.object())
		}
	}
	return dataReply(a.bytes())
}

// ownerless are the contents that a filter by guest does not leave out, although they belong to no guest.
var ownerless = map[string]bool{"import": true, "snippets": true}

// permitVolume reports whether the caller may see a volume. Disks and backups also require a privilege on their guest.
//
// Source: PVE::Storage check_volume_access, which the list calls for each volume without a guest.
func (c *call) permitVolume(st *storage, v *Volume) bool {
	on, owner := "/storage/"+st.ID, ownerOf(v.ID)
	switch {
	case c.allowed(on, "Datastore.Allocate"):
		return true
	case v.Kind == "iso", v.Kind == "vztmpl", v.Kind == "import":
		return c.requireAny(on, "Datastore.AllocateSpace", "Datastore.Audit") == nil
	case v.Kind == "backup" && owner != "":
		return c.allowed(on, "Datastore.AllocateSpace") && c.allowed("/vms/"+owner, "VM.Backup")
	case (v.Kind == "images" || v.Kind == "rootdir") && owner != "":
		return c.allowed(on, "Datastore.Audit") && c.allowed("/vms/"+owner, "VM.Config.Disk")
	}
	return false
}

func (v *Volume) object() *object {
	o := &object{}
	o.str("volid", v.ID)
	o.str("content", v.Kind)
	o.str("format", v.Format)
	o.num("size", v.stored())
	o.num("ctime", v.Made.Unix())
	if a := v.archive; a != nil {
		o.num("vmid", int64(v.Owner))
		o.str("subtype", string(a.kind))
		if a.notes != "" {
			o.str("notes", firstLine(a.notes))
		}
		if a.protected {
			o.num("protected", 1)
		}
	}
	if v.Kind != "images" && v.Kind != "rootdir" {
		return o
	}
	o.num("vmid", int64(v.Owner))
	o.num("used", v.Size)
	if v.Base == "" {
		o.null("parent")
	} else {
		o.str("parent", v.Base)
	}
	return o
}

func volumeInfo(c *call) (reply, error) {
	v := c.sim.volumeOn(c.node(), c.vars["volume"])
	if v == nil {
		return reply{}, apiErrorf("volume_size_info on '%s' failed - no format", c.vars["volume"])
	}
	if v.archive != nil {
		if err := c.require("/storage/"+c.vars["storage"], "Datastore.AllocateSpace"); err != nil {
			return reply{}, err
		}
	}
	var o object
	o.str("path", c.sim.pathOf(v.ID))
	o.num("size", v.Size)
	o.num("used", v.stored())
	format := v.Format
	if v.Kind == "iso" || v.Kind == "backup" {
		format = "raw"
	}
	o.str("format", format)
	if v.archive != nil {
		o.str("notes", v.archive.notes)
		if v.archive.protected {
			o.num("protected", 1)
		}
	}
	return dataReply(o.bytes())
}

// allocateVolume creates a disk image by name. A size without a unit is in KiB.
func allocateVolume(c *call) (reply, error) {
	var id string
	err := c.sim.locked(func() error {
		st, err := c.storage()
		if err != nil {
			return err
		}
		name := c.params["filename"]
		if st.Type == "dir" {
			name = c.params["vmid"] + "/" + name
		}
		v, err := st.volumeFromName(name)
		if err != nil {
			return err
		}
		if c.sim.volume(v.ID) != nil {
			return apiErrorf("disk image '%s' already exists", c.sim.pathOf(v.ID))
		}
		size := c.params["size"]
		if n, ok := parseSize(size); ok {
			v.Size = n
		}
		if !strings.ContainsAny(size, "MG") {
			v.Size *= kib
		}
		if err := st.checkSpace(atoi(c.params["vmid"]), v.Size); err != nil {
			return err
		}
		c.sim.add(v)
		id = v.ID
		return nil
	})
	if err != nil {
		return reply{}, err
	}
	return dataReply(jsonString(id))
}

// namedVolume returns the id of the volume of the path, which may lack its storage. The state is locked.
func (c *call) namedVolume() (string, error) {
	st, err := c.storage()
	if err != nil {
		return "", err
	}
	id, name, found := strings.Cut(c.vars["volume"], ":")
	if !found {
		id, name = st.ID, id
	}
	if id != st.ID {
		return "", paramError("volume", "storage ID mismatch ("+id+" != "+st.ID+")\n")
	}
	if _, err := st.volumeFromName(name); err != nil {
		return "", err
	}
	return id + ":" + name, nil
}

// deleteVolume removes a volume in a task, also one that a guest uses. With delay the reply waits up to that many seconds for the task, and is its error if
// it fails.
//
// Source: pve-storage PVE/API2/Storage/Content.pm, delete.
func deleteVolume(c *call) (reply, error) {
	var vol string
	err := c.sim.locked(func() (err error) {
		if vol, err = c.namedVolume(); err == nil {
			err = c.permitRemoval(c.vars["storage"], vol)
		}
		return err
	})
	if err != nil {
		return reply{}, err
	}
	if c.fault != nil && c.fault.Kind == LostWorker {
		return reply{}, apiErrorf("got no worker upid - start worker failed")
	}
	done := make(chan struct{})
	var failed error // once done is closed
	id := strings.TrimPrefix(ownerOf(vol)+"@"+c.vars["storage"], "@")
	t := c.sim.spawn(c.node(), "imgdel", id, 0, c.caller.ID, c.fault, func(t *task) error {
		defer close(done)
		if failed = t.work(1); failed == nil {
			failed = t.locked(func() error { return t.deleteVolume(vol) })
		}
		return failed
	})
	if d := atoi(c.params["delay"]); d > 0 && c.sim.endsWithin(done, time.Duration(d)*time.Second) {
		if failed != nil {
			return reply{}, failed
		}
		return nullReply()
	}
	return dataReply(jsonString(t.name))
}

// deleteVolume removes a volume as the node of the task sees it. One that is missing is no error.
func (t *task) deleteVolume(vol string) error {
	v := t.sim.volumeOn(t.upid.node, vol)
	switch {
	case v != nil && v.archive != nil && v.archive.protected:
		id, name, _ := strings.Cut(vol, ":")
		return apiErrorf("cannot remove protected volume '%s' on '%s'", name, id)
	case v == nil:
		t.printf("disk image '%s' does not exist", t.sim.pathOf(vol))
	}
	t.printf("Removed volume '%s'", vol)
	t.sim.freeOn(t.upid.node, vol, "delete volume")
	return nil
}

// changeVolume changes the notes and the protection of a backup.
func changeVolume(c *call) (reply, error) {
	err := c.sim.locked(func() error {
		vol, err := c.namedVolume()
		if err != nil {
			return err
		}
		if err := c.permitRemoval(c.vars["storage"], vol); err != nil {
			return err
		}
		v := c.sim.volume(vol)
		notes, noted := c.params["notes"]
		_, protected := c.params["protected"]
		switch {
		case v == nil:
			return apiErrorf("volume '%s' does not exist", vol)
		case v.archive == nil && noted:
			return apiErrorf("only backups can have notes")
		case v.archive == nil && protected:
			return apiErrorf("only backups support attribute 'protected'")
		}
		if noted {
			v.archive.notes = notes
		}
		if protected {
			v.archive.protected = c.flag("protected")
		}
		return nil
	})
	if err != nil {
		return reply{}, err
	}
	return nullReply()
}

// permitRemoval requires Datastore.Allocate on the storage. A backup requires space on the storage and VM.Backup on its guest. The state is
// locked.
func (c *call) permitRemoval(id, vol string) error {
	owner := ownerOf(vol)
	if owner == "" || !backupOwner.MatchString(vol) {
		return c.require("/storage/"+id, "Datastore.Allocate")
	}
	if err := c.require("/storage/"+id, "Datastore.AllocateSpace"); err != nil {
		return err
	}
	return c.require("/vms/"+owner, "VM.Backup")
}

func storageConfigs(c *call) (reply, error) {
	var a array
	for _, st := range c.sim.storages {
		if t := c.params["type"]; t != "" && t != st.Type {
			continue
		}
		if c.requireAny("/storage/"+st.ID, "Datastore.Audit", "Datastore.AllocateSpace") != nil {
			continue
		}
		a.add(st.settings())
	}
	return dataReply(a.bytes())
}

func storageConfig(c *call) (reply, error) {
	st, err := c.storage()
	if err != nil {
		return reply{}, err
	}
	return dataReply(st.settings().bytes())
}

// volumeGroup returns the volume group of a thin pool. Each storage has a group of its own.
func (st *storage) volumeGroup() string {
	if st.ID == "local-lvm" {
		return "pve"
	}
	return st.ID
}

// settings returns the storage's section of the storage configuration.
func (st *storage) settings() *object {
	o := &object{}
	o.str("storage", st.ID)
	o.str("type", st.Type)
	o.str("content", st.contents())
	if st.Type == "dir" {
		o.str("path", st.Path)
		if st.ID == "local" {
			o.str("prune-backups", "keep-all=1")
		}
	} else {
		o.str("thinpool", "data")
		o.str("vgname", st.volumeGroup())
	}
	if st.Shared {
		o.num("shared", 1)
	}
	if st.Nodes != "" {
		o.str("nodes", st.Nodes)
	}
	o.str("digest", configtext.Digest(st.ID+st.Content))
	return o
}
