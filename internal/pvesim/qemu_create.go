package pvesim

import (
	"maps"
	"net/http"
	"strings"
	"time"
)

// createOnly are parameters of a create that are not config keys.
var createOnly = []string{
	"vmid", "archive", "bwlimit", "force", "pool", "start", "storage", "unique", "live-restore", "ha-managed", "import-working-storage",
}

// createVM checks the call and reserves the vmid with a locked config. A task creates the VM.
func createVM(c *call) (reply, error) {
	vmid := atoi(c.params["vmid"])
	if from := c.params["archive"]; from != "" {
		return restore(c, QEMU, vmid, from)
	}
	set := maps.Clone(c.params)
	for _, k := range createOnly {
		delete(set, k)
	}
	err := c.sim.locked(func() error {
		if err := c.permitCreate(vmid, set); err != nil {
			return err
		}
		return c.reserve(QEMU, vmid)
	})
	if err != nil {
		return reply{}, err
	}
	return c.start("qmcreate", vmid, func(t *task) error {
		err := t.withGuestLock(QEMU, vmid, func() error { return t.createVM(c, vmid, set) })
		if err != nil {
			return err
		}
		_ = t.locked(func() error { c.addToHA(c.sim.guests[vmid]); return nil })
		if c.flag("start") && !c.flag("ha-managed") {
			t.logLine("Execute autostart")
			c.sim.spawn(c.node(), "qmstart", itoa(vmid), vmid, c.caller.ID, nil, func(t *task) error { return t.startVM(c.node(), vmid) })
		}
		return nil
	})
}

func (c *call) permitCreate(vmid int, set values) error {
	if err := c.requireQuorum(); err != nil {
		return err
	}
	if err := c.permitAllocate(vmid); err != nil {
		return err
	}
	if err := c.permitStartAndHA(vmid); err != nil {
		return err
	}
	if v, ok := set["cdrom"]; ok {
		delete(set, "cdrom")
		set["ide2"] = v
	}
	if err := c.normalizeVM(set); err != nil {
		return err
	}
	for _, k := range sortedKeys(set) {
		if k == "tags" {
			continue // the task checks this key
		}
		if err := c.permitKey(vmid, k, set[k]); err != nil {
			return err
		}
	}
	return c.checkDisks(QEMU, set)
}

// permitStartAndHA checks the privileges for the start of the new guest, which release 9 requires, and for adding the guest to HA.
func (c *call) permitStartAndHA(vmid int) error {
	if c.flag("start") && c.sim.major() >= 9 {
		if err := c.require("/vms/"+itoa(vmid), "VM.PowerMgmt"); err != nil {
			return err
		}
	}
	if c.flag("ha-managed") {
		return c.require("/", "Sys.Console")
	}
	return nil
}

// addToHA adds a new guest to the HA manager if the call sets ha-managed. The state is locked.
func (c *call) addToHA(g *guest) {
	if !c.flag("ha-managed") {
		return
	}
	state := "stopped"
	if c.flag("start") {
		state = "started"
	}
	h := &haResource{vmid: g.vmid, kind: g.kind, state: state, extra: values{}}
	c.sim.ha[g.vmid] = h
	c.sim.scheduleHA()
}

// permitAllocate requires VM.Allocate on the new guest or on its pool.
func (c *call) permitAllocate(vmid int) error {
	p := c.params["pool"]
	if p != "" && c.sim.pools[p] == nil {
		return forbidden("pool '" + p + "' does not exist")
	}
	if c.sim.allows(c.caller, "/vms/"+itoa(vmid), "VM.Allocate") || p != "" && c.sim.allows(c.caller, "/pool/"+p, "VM.Allocate") {
		return nil
	}
	return &apiError{status: http.StatusForbidden, message: "Permission check failed\n"}
}

// reserve creates a config that contains only the create lock. The state is locked.
func (c *call) reserve(kind Kind, vmid int) error {
	if old := c.sim.guests[vmid]; old != nil {
		text := old.label() + " " + itoa(vmid) + " already exists on node '" + old.node + "'"
		if kind == QEMU {
			text = "unable to create VM " + itoa(vmid) + " - " + text
		}
		return apiErrorf("%s", text)
	}
	g := newGuest(vmid, kind, c.node())
	g.edit(func(conf *config) { conf.Values["lock"] = "create" })
	c.sim.guests[vmid] = g
	return nil
}

// createVM fills the reserved config. A failure removes the config and the allocated volumes; a killed worker leaves both.
func (t *task) createVM(c *call, vmid int, set values) error {
	var made []string
	err := t.work(0.3)
	if err == nil {
		err = t.createDisks(vmid, set, &made)
	}
	if err == nil {
		err = t.work(0.6)
	}
	if _, tagged := set["tags"]; tagged && err == nil {
		err = t.locked(func() error { return inTask(c.permitNewTags(set["tags"])) })
	}
	if err == nil {
		return t.commitGuest(vmid, func() error { t.finishVM(vmid, set, c.params["pool"]); return nil })
	}
	return t.removePartialGuest("unable to create VM "+itoa(vmid)+" - ", vmid, made, err)
}

func (t *task) createDisks(vmid int, set values, made *[]string) error {
	done := values{}
	for _, slot := range diskSlots(QEMU, set) {
		d, err := parseDrive(slot, set[slot])
		if err == nil {
			err = checkOneCloudInit(d, done)
		}
		if err != nil {
			return err
		}
		done[slot] = set[slot]
		if !d.isNew() && !d.wantsCloudInit() {
			err = t.locked(func() error { return t.createDisk(vmid, d, set, made) })
		} else {
			err = t.withStorageLock(d.storageOf(), func() error {
				return t.locked(func() error { return t.createDisk(vmid, d, set, made) })
			})
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// createDisk allocates one disk and writes it into the values. The state is locked.
func (t *task) createDisk(vmid int, d drive, set values, made *[]string) error {
	before := len(*made)
	d, err := t.sim.allocate(t.upid.node, vmid, d, t.printf, made)
	if err != nil {
		return err
	}
	set[d.slot] = d.text()
	if len(*made) > before {
		t.printf("%s: successfully created disk '%s'", d.slot, set[d.slot])
	}
	return nil
}

func (t *task) finishVM(vmid int, set values, pool string) {
	s := t.sim
	g := s.guests[vmid]
	g.edit(func(conf *config) {
		conf.Values = maps.Clone(set)
		s.addIdentities(conf.Values)
	})
	if pool != "" && s.pools[pool] != nil {
		s.pools[pool].vms = append(s.pools[pool].vms, vmid)
	}
	s.countEffect(vmid, Created)
}

// addIdentities adds the values that a new VM gets: boot order, creation data, SMBIOS uuid if the call sets no smbios1, generation id, and a
// pinned machine version for Windows.
func (s *Sim) addIdentities(v values) {
	if _, ok := v["boot"]; !ok {
		v["boot"] = printBootOrder(defaultBootDevices(v))
	}
	v["meta"] = creationMeta(time.Now().Unix())
	if v["smbios1"] == "" { // a text without a uuid is kept as it was sent, and the VM has no uuid
		v["smbios1"] = "uuid=" + s.newUUID()
	}
	if v["vmgenid"] == "" {
		v["vmgenid"] = s.newUUID()
	}
	if isWindows(v["ostype"]) && !strings.Contains(v["machine"], "+pve") {
		v["machine"] = pinnedMachine(v["machine"])
	}
}
