package observe

import (
	"fmt"
	"maps"
	"sync"
	"time"

	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/guest"
)

// Observer holds the newest full reading of every guest that matters. It reads a guest if its inventory row or its entry in the vmlist file
// changed, if the engine marked it as due, and if the rolling sweep reaches it: every guest is read within resync, or within check if the
// vmlist file shows that it did not change. It belongs to the goroutine of the engine.
type Observer struct {
	reader cluster.Reader
	tick   time.Duration // between two inventories
	resync time.Duration
	check  time.Duration
	list   *vmlistWatch // nil without a vmlist file

	inventory      cluster.Inventory
	seen           map[int]guest.Observed
	absent         map[int]cluster.Absence
	trouble        map[int]string // why the newest reading of a guest failed
	due            map[int]bool   // guests to read at the next tick, before the sweep
	chosen         time.Time      // when the sweep chose guests last
	failed         bool           // a list of guests could not be read, or came late, since the start
	files          map[cluster.FilePlace]cluster.Files
	objects        map[guest.Kind]cluster.Objects
	parts          map[guest.Kind]map[string]time.Time // when objects were read alone, after their kind
	firewalls      map[int]bool                        // guests whose manifests describe a firewall, and whether that includes names
	datacenter     cluster.Datacenter
	datacenterRead time.Time

	haTrouble string       // why the resources of the HA manager could not be read
	resources haResources  // the newest answer of the HA manager; nil without one
	underHA   map[int]bool // guests whose manifests configure HA

	master       cluster.HAMaster // of the HA manager when a guest last waited for it
	masterSeenAt time.Time        // when that round of it was first seen, or first could not be read; the zero time if no guest waits
	haStands     string           // why the HA manager does not act, as far as a guest waits for it
	haUnread     string           // why that is not known

	resourcesAsked time.Time         // when the newest answer of the HA manager was asked for
	laneHA         map[int]time.Time // when lanes read guests of which they also asked the HA manager, by vmid

	vmids   map[int]bool       // the guests that matter
	current *round             // the newest round; nil if it has ended
	pending map[Part]time.Time // when the calls that concern no single guest began
	flying  map[int]flight     // readings that were asked for and have not arrived, by vmid
	lost    map[int]time.Time  // when a lane found a guest absent, while it is
	nodes   map[string]*nodeReads
	mail    mail
	calls   sync.WaitGroup
}

// New returns an observer that has not read anything. Tick is the time between two calls of Observe.
func New(reader cluster.Reader, tick, resync time.Duration) *Observer {
	return &Observer{
		reader: reader, tick: tick, resync: resync, check: resync,
		seen: make(map[int]guest.Observed), absent: make(map[int]cluster.Absence),
		trouble: make(map[int]string), due: make(map[int]bool),
		pending: make(map[Part]time.Time), flying: make(map[int]flight), lost: make(map[int]time.Time), laneHA: make(map[int]time.Time),
		nodes: make(map[string]*nodeReads), mail: mail{bell: make(chan struct{}, 1)},
	}
}

// UseVMList makes the sweep skip guests that have not changed according to the vmlist file at path. They are still read within check. An
// empty path uses no file.
func (o *Observer) UseVMList(path string, check time.Duration) {
	if path != "" {
		o.list, o.check = newVMListWatch(path), check
	}
}

// Snapshot returns the newest readings. The caller must not change them, and must not use them after the next call of a method that reads or
// learns.
func (o *Observer) Snapshot() cluster.Snapshot {
	return cluster.Snapshot{Inventory: o.inventory, Guests: o.seen, Absent: o.absent, ReadErrors: o.trouble, Files: o.files, Datacenter: o.datacenter, Objects: o.objects, HAStands: o.haStands, HAUnread: o.haUnread, Began: !o.failed}
}

// Sighting is a lane's last reading of its guest.
type Sighting struct {
	VMID    int
	Seen    guest.Observed  // the zero value if the guest was not read
	Absence cluster.Absence // "" if the guest was read
	Again   bool            // the guest must be read again: the lane changed it, or failed
}

// Learn takes a lane's reading if it is newer than the observer's own.
func (o *Observer) Learn(s Sighting) {
	switch {
	case s.Absence != "":
		o.remove(s.VMID, s.Absence)
		o.lost[s.VMID] = time.Now() // a reading that began before says less
	case s.Seen.VMID != 0 && !s.Seen.ReadAt.Before(o.seen[s.VMID].ReadAt):
		o.seen[s.VMID] = s.Seen
		if o.underHA[s.VMID] {
			o.laneHA[s.VMID] = s.Seen.ReadAt
		}
		delete(o.lost, s.VMID)
		delete(o.absent, s.VMID)
		delete(o.trouble, s.VMID)
	}
	if s.Again {
		o.due[s.VMID] = true
		o.forgetFirewall(s.VMID)
	}
}

// Doubt marks readings that are too old as unknown while the cluster does not answer: of guests, of the files of Images and of other objects. Err is why it does not.
func (o *Observer) Doubt(now time.Time, err error) {
	o.failed = true
	for vmid := range o.seen {
		o.doubt(vmid, now, err)
	}
	for place, files := range o.files {
		if files.Err == "" && o.tooOld(files.ReadAt, now) {
			files.Err = err.Error()
			o.files[place] = files
		}
	}
	for kind, objects := range o.objects {
		if objects.Err == "" && o.tooOld(objects.ReadAt, now) {
			objects.Err = err.Error()
			o.objects[kind] = objects
		}
	}
}

// tooOld reports whether a reading is twice as old as it should ever be.
func (o *Observer) tooOld(readAt, now time.Time) bool {
	return now.Sub(readAt) > 2*max(o.resync, o.tick)
}

// DoubtLate marks readings that are too old as unknown while the new reading that was asked for does not arrive.
func (o *Observer) DoubtLate(now time.Time) {
	for vmid, f := range o.flying {
		o.doubt(vmid, now, fmt.Errorf("read guest %d on %s: no reply for %s", vmid, f.node, now.Sub(f.since).Round(time.Second)))
	}
}

func (o *Observer) doubt(vmid int, now time.Time, err error) {
	if seen, known := o.seen[vmid]; known && o.tooOld(seen.ReadAt, now) {
		o.absent[vmid], o.trouble[vmid] = cluster.Unknown, err.Error()
		o.due[vmid] = true
	}
}

// Trouble contains the reasons why the observer does not use a source. It is the zero value if the observer uses all sources.
type Trouble struct {
	VMList string // why the vmlist file is not used
	HA     string // why the resources of the HA manager could not be read
}

// Trouble returns the reasons why the observer does not use a source.
func (o *Observer) Trouble() Trouble {
	t := Trouble{HA: o.haTrouble}
	if o.list != nil {
		t.VMList = o.list.trouble
	}
	return t
}

// VMListStatus returns the state of the vmlist file, nil without one.
func (o *Observer) VMListStatus() *VMListStatus { return o.list.status() }

// VMListChanged reports whether the vmlist file shows a change of one of vmids since the last Observe. It reads only that file.
func (o *Observer) VMListChanged(vmids []int) bool { return o.list.changedSinceLastRead(vmids) }

// remove drops the reading of a guest that is not there or cannot be seen.
func (o *Observer) remove(vmid int, absence cluster.Absence) {
	delete(o.seen, vmid)
	o.absent[vmid] = absence
	o.list.forget(vmid)
}

// forget drops everything about guests other than vmids.
func (o *Observer) forget(vmids []int) {
	wanted := make(map[int]bool, len(vmids))
	for _, v := range vmids {
		wanted[v] = true
	}
	for vmid := range o.seen {
		if !wanted[vmid] {
			o.list.forget(vmid)
		}
	}
	o.vmids = wanted
	keepOnly(o.seen, wanted)
	keepOnly(o.absent, wanted)
	keepOnly(o.trouble, wanted)
	keepOnly(o.due, wanted)
	keepOnly(o.lost, wanted)
}

func keepOnly[T any](entries map[int]T, wanted map[int]bool) {
	maps.DeleteFunc(entries, func(vmid int, _ T) bool { return !wanted[vmid] })
}
