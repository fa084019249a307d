package pvesim

import (
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"gitops-agent/internal/pvesim/configtext"
)

// archive is the content of a backup: the config and the sizes of the disks.
type archive struct {
	kind  Kind
	text  string
	notes string
	sizes map[string]int64 // bytes by slot

	protected bool // cannot be removed
}

func backupRoutes() []*route {
	return []*route{
		writeRoute(http.MethodPost, "/nodes/{node}/vzdump", backup).withParams(map[string]rule{
			"vmid": text(), "all": boolean(), "pool": text(), "storage": checked(checkStorageID), "mode": enum("snapshot", "suspend", "stop"),
			"compress": enum("0", "1", "gzip", "lzo", "zstd"), "notes-template": text().with("storage"), "remove": boolean(), "protected": boolean().with("storage"),
			"bwlimit": integer(), "lockwait": integer(), "mailto": text(), "mailnotification": text(), "notification-mode": text(), "quiet": boolean(), "zstd": integer(),
			"ionice": integer(), "stdexcludes": boolean(), "prune-backups": text(), "fleecing": text(), "stop": boolean(), "stdout": boolean(), "tmpdir": text(),
		}),
		readRoute("/nodes/{node}/vzdump/extractconfig", extractConfig).withParams(map[string]rule{"volume": text().needed()}),
	}
}

// extractConfig returns the configuration in a backup as the text of its file: the description in comments, then the keys.
func extractConfig(c *call) (reply, error) {
	storage, _, _ := strings.Cut(c.params["volume"], ":")
	if err := c.require("/storage/"+storage, "Datastore.AllocateSpace"); err != nil {
		return reply{}, err
	}
	v := c.sim.volumeOn(c.node(), c.params["volume"])
	if v == nil || v.archive == nil {
		return reply{}, apiErrorf("volume '%s' does not exist", c.params["volume"])
	}
	if err := c.require("/vms/"+itoa(v.Owner), "VM.Backup"); err != nil {
		return reply{}, err
	}
	return dataReply(jsonString(v.archive.text))
}

// backup writes the configs and disks of guests into archives. The config of a guest is locked until its archive is complete. A guest that fails does not stop
// the others, and only the log of the task says why it failed.
func backup(c *call) (reply, error) {
	if c.flag("stop") && c.params["vmid"] == "" {
		return dataReply(jsonString("OK")) // no backup runs on this node that the caller began
	}
	id := c.params["storage"]
	if id == "" {
		id = "local"
	}
	var vmids []int
	err := c.sim.locked(func() (err error) {
		if err = c.permitBackup(id); err == nil {
			vmids, err = c.backedUpGuests()
		}
		return err
	})
	if err != nil {
		return reply{}, err
	}
	one, name := 0, ""
	if len(vmids) == 1 {
		one, name = vmids[0], itoa(vmids[0])
	}
	return c.startAs("vzdump", name, one, func(t *task) error {
		if err := t.applyFault(BeforeBegin); err != nil {
			return err
		}
		err := t.locked(func() error {
			if err := t.sim.activate(id); err != nil {
				return err
			}
			return c.permitGuests(vmids)
		})
		if err != nil {
			return err
		}
		t.printf("INFO: starting new backup job: vzdump %s", c.backupArguments(vmids))
		failed := false
		for _, vmid := range vmids {
			err := t.backUp(c, vmid, id)
			if workerDied(err) {
				return err // the lock stays, as after a crash
			}
			if err != nil {
				t.printf("ERROR: Backup of VM %d failed - %s", vmid, firstLine(err.Error()))
				t.printf("INFO: Failed at %s", time.Now().Format(time.DateTime))
				failed = true
			}
		}
		if failed {
			t.printf("INFO: Backup job finished with errors")
			return apiErrorf("job errors")
		}
		t.printf("INFO: Backup job finished successfully")
		return nil
	})
}

// permitBackup checks what does not depend on the guests; the task checks VM.Backup. The state is locked.
func (c *call) permitBackup(storage string) error {
	switch {
	case c.params["stdout"] != "":
		return paramError("stdout", "option is only allowed on the command line interface.")
	case c.params["tmpdir"] != "" && !c.isRoot():
		return paramError("tmpdir", "Only root may set this option.")
	case c.params["bwlimit"] != "":
		if err := c.require("/", "Sys.Modify"); err != nil {
			return err
		}
	}
	if err := checkNotesTemplate(c.params["notes-template"]); err != nil {
		return err
	}
	return c.require("/storage/"+storage, "Datastore.AllocateSpace")
}

// backedUpGuests returns the guests that the call selects. The state is locked.
func (c *call) backedUpGuests() ([]int, error) {
	if pool := c.params["pool"]; pool != "" {
		if c.sim.pools[pool] == nil {
			return nil, apiErrorf("pool '%s' does not exist", pool)
		}
		return c.guestsHere(func(vmid int) bool { return c.sim.poolOf(vmid) == pool }), nil
	}
	if c.flag("all") {
		if c.params["vmid"] != "" {
			return nil, paramError("all", "option conflicts with option 'vmid'")
		}
		return c.guestsHere(func(int) bool { return true }), nil
	}
	if c.params["vmid"] == "" {
		return nil, paramError("vmid", "property is missing")
	}
	var vmids []int
	for id := range strings.SplitSeq(c.params["vmid"], ",") {
		if msg := vmidRule.verify(id); msg != "" {
			return nil, paramError("vmid", msg)
		}
		vmids = append(vmids, atoi(id))
	}
	return vmids, nil
}

// permitGuests checks what the task checks before its first backup. The state is locked.
func (c *call) permitGuests(vmids []int) error {
	for _, vmid := range vmids {
		if c.sim.guests[vmid] == nil {
			continue
		}
		if err := c.require("/vms/"+itoa(vmid), "VM.Backup"); err != nil {
			return inTask(err)
		}
	}
	return nil
}

// guestsHere returns the guests of the node for which a condition holds, sorted. The state is locked.
func (c *call) guestsHere(holds func(vmid int) bool) []int {
	var vmids []int
	for vmid, g := range c.sim.guests {
		if g.node == c.node() && holds(vmid) {
			vmids = append(vmids, vmid)
		}
	}
	slices.Sort(vmids)
	return vmids
}

// activate returns the error of a backup to a storage that cannot have one. The state is locked.
func (s *Sim) activate(storage string) error {
	st := s.storage(storage)
	if st == nil {
		missing := "storage '" + storage + "' does not exist"
		return apiErrorf("could not activate storage '%s': %s could not get storage information for '%s': %s", storage, missing, storage, missing)
	}
	if !slices.Contains(strings.Split(st.Content, ","), "backup") {
		return apiErrorf("could not get storage information for '%s': can't use storage '%s' for backups - wrong content type", storage, storage)
	}
	return nil
}

// backUp backs up one guest.
func (t *task) backUp(c *call, vmid int, storage string) error {
	begun := time.Now()
	if err := t.locked(func() error { return t.beginBackup(c, vmid, storage) }); err != nil {
		return err
	}
	err := t.work(1)
	if workerDied(err) {
		return err
	}
	return t.locked(func() error { return t.endBackup(c, vmid, storage, begun, err) })
}

func (t *task) beginBackup(c *call, vmid int, storage string) error {
	g := t.sim.guests[vmid]
	if g == nil || g.node != c.node() {
		return apiErrorf("unable to find VM '%d'", vmid)
	}
	t.logBackupBegin(g)
	if err := g.checkLock(); err != nil {
		return err
	}
	if err := t.sim.checkWritable(g); err != nil {
		return err
	}
	t.logBackupMode(c, g, storage)
	g.edit(func(conf *config) { conf.Values["lock"] = "backup" })
	return nil
}

// backedUpText returns the config in a backup of a guest: that of now, without snapshots.
func backedUpText(g *guest) string {
	conf := g.conf.Clone()
	conf.Snapshots = nil
	delete(conf.Values, "parent")
	return conf.Format(g.kind)
}

func (t *task) endBackup(c *call, vmid int, storage string, begun time.Time, err error) error {
	g := t.sim.guests[vmid]
	if g == nil {
		return apiErrorf("guest %d vanished during its backup", vmid)
	}
	if err := t.sim.checkWritable(g); err != nil {
		return err // the lock stays
	}
	g.edit(func(conf *config) { delete(conf.Values, "lock") })
	if err != nil {
		return err
	}
	a := &archive{kind: g.kind, text: backedUpText(g), notes: t.sim.notesOf(c.params["notes-template"], g), sizes: map[string]int64{}}
	included := map[string]bool{}
	for _, v := range volumesOfBackup(g) {
		included[v.slot] = v.included
	}
	total := int64(0)
	for _, slot := range diskSlots(g.kind, g.conf.Values) {
		d, err := parseDisk(g.kind, slot, g.conf.Values[slot])
		if err != nil || !d.ownsVolume() || t.sim.volume(d.file()) == nil {
			continue
		}
		size := t.sim.volume(d.file()).Size
		if included[slot] {
			total += size
		}
		if included[slot] || g.kind == LXC || d.isCloudInit() { // a restore makes these volumes in any case, and leaves empty what the archive does not contain
			a.sizes[slot] = size
		}
	}
	if t.sim.storage(storage).full {
		return apiErrorf("vma_queue_write: write error - Broken pipe")
	}
	ext := c.backupFormat(g.kind)
	name := storage + ":" + backupName(g, begun, ext)
	v := t.sim.add(Volume{ID: name, Owner: vmid, Size: total/1000 + 1, Format: ext, Kind: "backup"})
	a.protected = c.flag("protected")
	v.archive = a
	t.logBackupEnd(c, g, v, total, begun)
	t.sim.countEffect(vmid, BackedUp)
	return nil
}

// restore creates a guest from an archive, in a task.
func restore(c *call, kind Kind, vmid int, from string) (reply, error) {
	var a *archive
	var set values
	err := c.sim.locked(func() (err error) {
		if err := c.requireQuorum(); err != nil {
			return err
		}
		if err := c.permitAllocate(vmid); err != nil {
			return err
		}
		if err := c.checkTakeOver(kind, vmid); err != nil {
			return err
		}
		v := c.sim.volume(from)
		if v == nil || v.archive == nil || v.archive.kind != kind {
			return apiErrorf("volume '%s' does not exist", from)
		}
		a = v.archive
		if set, err = c.restoreConfig(kind, vmid); err != nil {
			return err
		}
		if old := c.sim.guests[vmid]; old != nil {
			if err := old.checkLock(); err != nil {
				return apiErrorf("unable to restore %s %d - %s", kindLabel(kind), vmid, err)
			}
			old.edit(func(conf *config) { conf.Values["lock"] = "create" })
			return nil
		}
		return c.reserve(kind, vmid)
	})
	if err != nil {
		return reply{}, err
	}
	return c.start(typePrefix(kind)+"restore", vmid, func(t *task) error {
		return t.withGuestLock(kind, vmid, func() error { return t.restore(c, a, set, vmid) })
	})
}

// checkTakeOver checks the guest that already has the vmid of a restored one. With force, a guest of the same kind on the same node is replaced. The state is
// locked.
//
// Source: PVE::API2::Qemu create_vm; PVE::API2::LXC create_vm.
func (c *call) checkTakeOver(kind Kind, vmid int) error {
	old := c.sim.guests[vmid]
	switch {
	case old == nil:
		return nil
	case !c.flag("force") || old.kind != kind || old.node != c.node():
		return apiErrorf("unable to restore %s %d - %s %d already exists on node '%s'", kindLabel(kind), vmid, old.label(), vmid, old.node)
	case kind == QEMU:
		return nil // its task checks the rest
	case old.running:
		return apiErrorf("can't overwrite running container")
	}
	return old.checkProtection("unable to restore CT " + itoa(vmid))
}

// checkReplaced rejects in the task the replacement of a VM that is protected or runs, and unlocks it.
func (t *task) checkReplaced(vmid int) error {
	return t.locked(func() error {
		g := t.sim.guests[vmid]
		err := g.checkProtection("unable to restore VM " + itoa(vmid) + " -")
		if err == nil && g.running {
			err = apiErrorf("unable to restore VM %d - vm is running", vmid)
		}
		if err != nil {
			g.edit(func(conf *config) { delete(conf.Values, "lock") })
		}
		return err
	})
}

// replace frees what a restored guest replaces: of a VM the disks that the archive has and the saved memory of snapshots, of a container every volume. The
// other disks of a VM become unused. The state is locked.
//
// Source: PVE::QemuServer restore_cleanup_oldconf; PVE::LXC destroy_lxc_container.
func (s *Sim) replace(g *guest, a *archive, v values) {
	if len(g.conf.Values) > 1 {
		s.checkDestroy(g)
	}
	reason := freeReason("restore over " + itoa(g.vmid))
	for _, slot := range sortedKeys(g.conf.Values) {
		if isUnused(slot) && a.kind == LXC {
			s.free(g.conf.Values[slot], reason)
		}
		if !isDisk(a.kind, slot) {
			continue
		}
		d, err := parseDisk(a.kind, slot, g.conf.Values[slot])
		old := s.volume(d.file())
		if err != nil || old == nil || old.Owner != g.vmid || d.isCloudInit() && strings.HasPrefix(v[slot], d.file()) {
			continue
		}
		if _, saved := a.sizes[slot]; saved || a.kind == LXC {
			s.free(old.ID, reason)
			continue
		}
		for i := 0; ; i++ {
			if key := "unused" + itoa(i); v[key] == "" {
				v[key] = old.ID
				break
			}
		}
	}
	for _, snapshot := range g.conf.Snapshots {
		if state := snapshot.Values["vmstate"]; state != "" {
			s.free(state, reason)
		}
	}
}

func (t *task) restore(c *call, a *archive, set values, vmid int) error {
	if a.kind == QEMU {
		if err := t.checkReplaced(vmid); err != nil {
			return err
		}
	}
	var made []string
	err := t.work(1)
	if workerDied(err) {
		return err
	}
	return t.commitGuest(vmid, func() error {
		var v values
		if err == nil {
			v, err = t.unpack(c, a, vmid, &made)
		}
		if err != nil {
			t.sim.freeAllocated(made)
			if g := t.sim.guests[vmid]; a.kind == QEMU && len(g.conf.Values) > 1 {
				g.edit(func(conf *config) { delete(conf.Values, "lock") })
			} else {
				delete(t.sim.guests, vmid)
			}
			return apiErrorf("unable to restore %s %d - %s", kindLabel(a.kind), vmid, firstLine(err.Error()))
		}
		maps.Copy(v, set)
		g := t.sim.guests[vmid]
		t.sim.replace(g, a, v)
		g.edit(func(conf *config) { *conf = *configtext.New(); conf.Values = v })
		c.addToPool(vmid)
		t.sim.countEffect(vmid, Created)
		return nil
	})
}

// dropLines leaves out the lines of a container's configuration that begin with lxc, unless root restores it. A token of root is not root.
//
// Source: PVE::LXC::Create sanitize_and_merge_config.
func (t *task) dropLines(c *call, v values) {
	lines := v[configtext.Lines]
	if lines == "" || c.isRoot() {
		return
	}
	const edge = "--------------------------------"
	t.log = append(t.log, "WARN: skipping custom lxc options, restore manually as root:", edge)
	t.log = append(append(t.log, strings.Split(lines, "\n")...), edge)
	delete(v, configtext.Lines)
}

// unpack returns the archived config with new volumes and, if the call sets unique, with new MAC addresses and a new uuid.
func (t *task) unpack(c *call, a *archive, vmid int, made *[]string) (values, error) {
	v := maps.Clone(configtext.Parse(a.kind, a.text).Values)
	delete(v, "lock")
	maps.DeleteFunc(v, func(k, _ string) bool { return isUnused(k) })
	t.logRestoreBegin(c, a, v)
	t.dropLines(c, v)
	for _, slot := range diskSlots(a.kind, v) {
		size, saved := a.sizes[slot]
		if !saved {
			continue
		}
		d, err := parseDisk(a.kind, slot, v[slot])
		if err != nil {
			return nil, err
		}
		id := d.storageOf()
		if s := c.params["storage"]; s != "" {
			id = s
		}
		st := t.sim.storage(id)
		if st == nil {
			return nil, apiErrorf("storage '%s' does not exist", id)
		}
		if err := st.checkSpace(vmid, size); err != nil {
			return nil, err
		}
		vol := t.sim.addRestored(st, vmid, d, size)
		t.printf("%s", st.formatLog(vol))
		*made = append(*made, vol.ID)
		if a.kind == QEMU {
			t.printf("new volume ID is '%s'", vol.ID)
			t.printf("map 'drive-%s' to '%s' (write zeros = 0)", slot, t.sim.pathOf(vol.ID))
		}
		v[slot] = d.with(vol.ID, vol.Size).text()
	}
	if a.kind == QEMU {
		t.logRestored(a)
		v["vmgenid"] = t.sim.newUUID()
	}
	if c.flag("unique") {
		return v, t.regenerateIdentities(a.kind, v)
	}
	return v, nil
}

// addRestored makes the volume of a restored disk. A cloud-init drive has the name that it always has: the one of a guest that is replaced is made again. The state is
// locked.
//
// Source: PVE::QemuServer restore_allocate_devices, restore_cleanup_oldconf.
func (s *Sim) addRestored(st *storage, vmid int, d drive, size int64) *Volume {
	if !d.isCloudInit() {
		return s.add(Volume{ID: st.ID + ":" + st.freeName(vmid, "raw"), Owner: vmid, Size: st.roundUp(size), Format: "raw", Kind: "images"})
	}
	format := "raw"
	if st.Type == "dir" && strings.HasSuffix(d.file(), ".qcow2") {
		format = "qcow2"
	}
	id := st.ID + ":" + st.volumeName(vmid, "vm-"+itoa(vmid)+"-cloudinit", format)
	if v := s.volume(id); v != nil {
		return v
	}
	return s.add(Volume{ID: id, Owner: vmid, Size: size, Format: format, Kind: "images"})
}

// regenerateIdentities replaces the MAC addresses and the SMBIOS uuid by new ones.
func (t *task) regenerateIdentities(kind Kind, v values) error {
	format, key := qemuNetFormat, "macaddr"
	if kind == LXC {
		format, key = lxcNetFormat, "hwaddr"
	}
	for _, k := range slotsOf(v, isNet) {
		n, err := format.parse(k, v[k])
		if err != nil {
			return err
		}
		n[key] = t.sim.newMAC()
		v[k] = lxcNetFormat.format(n)
		if kind == QEMU {
			v[k] = printNet(n)
		}
	}
	if kind == LXC {
		return nil
	}
	sm, err := smbiosFormat.parse("smbios1", v["smbios1"])
	if err != nil {
		sm = values{}
	}
	sm["uuid"] = t.sim.newUUID()
	v["smbios1"] = smbiosFormat.format(sm)
	return nil
}
