package reconcile_test

import (
	"context"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"gitops-agent/internal/pvesim"
	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/reason"
	"gitops-agent/reconcile/report"
)

var slotSeeds = newSeeds("slot", 8, "random histories of edited slots")

// slotOf is a slot of one of the two managed guests.
type slotOf struct {
	vmid int
	slot string
}

// managedSlots are the slots that the histories add, change and remove.
var managedSlots = []slotOf{{201, "scsi1"}, {201, "scsi2"}, {201, "scsi3"}, {210, "mp0"}, {210, "mp1"}}

// The ways in which a revision mentions a slot.
const (
	slotWanted  = "wanted"
	slotAbsent  = "absent"
	slotDropped = ""
)

// slotCounts are the events of all histories.
type slotCounts struct {
	edits, crashes, restarts, revisions, approvals, fills, refills, attached, kept atomic.Int64
}

// slotWatch is a cluster that checks each volume that the agent requests. It does not know the agent's records: it follows the simulator, the
// revisions and the reports.
type slotWatch struct {
	cluster.Cluster
	l      *lab
	counts *slotCounts

	mu        sync.Mutex
	revisions map[string]map[slotOf]string // by commit: how it mentions the slots
	held      map[slotOf]bool              // the slot held a volume since its removal converged
	since     map[slotOf]time.Time         // when a person put the present volume into the slot
	permitted map[slotOf]int               // approvals of an empty volume that were not used
	requested map[slotOf]bool              // the agent requested a volume, which is not in the slot yet
	last      []slotOf                     // the slots for which the agent requested volumes in its last such call
	left      int64                        // calls until the agent crashes
	after     bool                         // it crashes after the call
	crashed   bool
}

var allocation = regexp.MustCompile(`^[a-z0-9-]+:[0-9.]+(,|$)`)

// requests returns the slots into which a call puts a new volume, and those into which it puts an existing one.
func requests(call cluster.Call) (fills, attaches []slotOf) {
	for key, text := range call.Params {
		s := slotOf{call.VMID, key}
		switch {
		case call.Op != cluster.OpConfig && call.Op != cluster.OpCreate || !slices.Contains(managedSlots, s):
		case allocation.MatchString(text):
			fills = append(fills, s)
		default:
			attaches = append(attaches, s)
		}
	}
	return fills, attaches
}

// Do checks a call immediately before it is sent.
func (w *slotWatch) Do(ctx context.Context, call cluster.Call, check cluster.LastCheck) (string, error) {
	w.mu.Lock()
	w.left--
	crash := w.left == 0
	w.crashed = w.crashed || crash
	w.mu.Unlock()
	if crash && !w.after {
		panic("the agent crashes here")
	}
	upid, err := w.Cluster.Do(ctx, call, func(ctx context.Context) error {
		if err := check(ctx); err != nil {
			return err
		}
		w.check(call)
		return nil
	})
	if crash {
		panic("the agent crashes here")
	}
	return upid, err
}

func (w *slotWatch) check(call cluster.Call) {
	w.follow()
	w.mu.Lock()
	defer w.mu.Unlock()
	fills, attaches := requests(call)
	w.l.Logf("%s agent: %s of %d %v, delete %v", time.Now().Format(time.TimeOnly), call.Op, call.VMID, call.Params, call.Delete)
	for _, s := range attaches {
		if w.l.volume(s.vmid, s.slot) == "" {
			w.counts.attached.Add(1)
		}
	}
	if len(fills) > 0 {
		w.last = fills
	}
	for _, s := range fills {
		switch {
		case w.held[s] && w.permitted[s] == 0:
			w.l.Errorf("got a new volume for %v at %s, which held one before, want an approval first; config:\n%s", s, time.Now(), w.l.sim.Config(s.vmid))
		case w.held[s]:
			w.permitted[s]--
			w.counts.refills.Add(1)
		default:
			w.counts.fills.Add(1)
		}
		w.requested[s] = true
	}
}

// follow notes the slots that hold a volume that the agent requested.
func (w *slotWatch) follow() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for s := range w.requested {
		if w.l.holdsData(s) {
			w.held[s] = true
			delete(w.requested, s)
		}
	}
}

// reported notes what a report shows: the volumes in the readings that it was made from, and the removals that converged.
func (w *slotWatch) reported(r report.Report) {
	w.follow()
	w.mu.Lock()
	defer w.mu.Unlock()
	if r.Source.Accepted == nil || !r.Writes.Allowed {
		return
	}
	accepted, known := w.revisions[r.Source.Accepted.Commit]
	for _, g := range r.Guests {
		for _, s := range managedSlots {
			if s.vmid != g.VMID || !known {
				continue
			}
			holds, read := w.l.holdsData(s), g.Operation != report.Busy && r.Journal.Inflight == 0 && g.ObservedAt.After(w.since[s].Add(time.Second))
			switch {
			case accepted[s] == slotWanted && holds && read && !g.ObservedAt.IsZero():
				w.held[s] = true
			case accepted[s] == slotDropped, accepted[s] == slotAbsent && !holds:
				w.held[s] = false
			}
		}
	}
}

// holdsData reports whether a slot holds a volume.
func (l *lab) holdsData(s slotOf) bool {
	volume := l.volume(s.vmid, s.slot)
	return strings.Contains(volume, ":") && !strings.Contains(volume, ":iso/")
}

// slotHistory is a random sequence of edits, revisions, restarts and crashes.
type slotHistory struct {
	*lab
	watch     *slotWatch
	rng       *rand.Rand
	wants     map[slotOf]string
	sizes     map[slotOf]int
	stop      func() // nil while the agent is stopped
	snapshots map[int]int
}

// TestSlotSeeds runs random histories of hand edits of drives (detach, remove, move, swap, reassign, attach, snapshot, rollback), restarts and crashes of
// the agent, and accepted revisions that add, change and remove slots. A new volume comes into a slot that held one before only after a removal that
// converged or an approval, no volume is freed, and none is in two slots.
func TestSlotSeeds(t *testing.T) {
	t.Parallel()
	counts := &slotCounts{}
	slotSeeds.each(t, func(t *testing.T, seed uint64) {
		runLab(t, nil, func(_ *testing.T, l *lab) { runSlotHistory(l, seed, counts) })
	}, func(t *testing.T) string {
		c := counts
		for what, n := range map[string]*atomic.Int64{"attached": &c.attached, "filled": &c.fills, "filled with an approval": &c.refills, "kept empty": &c.kept, "crashed": &c.crashes} {
			if *slotSeeds.count >= 16 && n.Load() == 0 {
				t.Errorf("got nothing %s in %d histories, want some: the histories prove nothing", what, *slotSeeds.count)
			}
		}
		return fmt.Sprintf("%d edits by hand, %d revisions, %d restarts, %d crashes, %d approvals; %d slots filled freely, %d with an approval, "+
			"%d volumes attached again, %d times a slot kept empty",
			c.edits.Load(), c.revisions.Load(), c.restarts.Load(), c.crashes.Load(), c.approvals.Load(), c.fills.Load(), c.refills.Load(), c.attached.Load(), c.kept.Load())
	})
}

func runSlotHistory(l *lab, seed uint64, counts *slotCounts) {
	w := &slotWatch{
		Cluster: l.cluster, l: l, counts: counts, revisions: map[string]map[slotOf]string{}, held: map[slotOf]bool{}, since: map[slotOf]time.Time{},
		permitted: map[slotOf]int{}, requested: map[slotOf]bool{},
	}
	h := &slotHistory{
		lab: l, watch: w, rng: rand.New(rand.NewPCG(seed, 3)), wants: map[slotOf]string{}, sizes: map[slotOf]int{}, snapshots: map[int]int{},
	}
	l.opts.Cluster, l.opts.Hooks.OnReport = w, w.reported
	l.sim.Guard()
	_, err := l.sim.AddVM(pvesim.Guest{VMID: 301, Config: "name: other\nscsi0: local-lvm:vm-301-disk-0,size=1G\n"})
	l.ok(err)
	_, err = l.sim.AddCT(pvesim.Guest{VMID: 310, Config: "hostname: other\nrootfs: local:310/vm-310-disk-0.raw,size=1G\n"})
	l.ok(err)
	for _, s := range managedSlots[:4] {
		h.wants[s], h.sizes[s] = slotWanted, 1
	}
	h.revise()
	h.begin()
	h.settle()
	for range 40 {
		h.step()
		if h.wantOneSlotEach(); l.Failed() {
			break
		}
	}
	if h.stop == nil {
		h.begin()
	}
	h.settle()
	h.stop()
	if v := l.sim.Violations(); len(v) != 0 {
		l.Errorf("seed %d: got violations %v, want none", seed, v)
	}
}

// step does one random thing, and waits between nothing and a few minutes.
func (h *slotHistory) step() {
	switch h.rng.IntN(12) {
	case 0, 1, 2, 3, 4, 5:
		h.watch.follow()
		h.edit()
		h.watch.counts.edits.Add(1)
	case 6, 7:
		h.change()
		h.revise()
	case 8:
		h.restart()
	case 9, 10:
		h.approveOne()
	case 11:
		if h.stop != nil {
			h.settle()
		}
	}
	time.Sleep(time.Duration(h.rng.Int64N(int64([]time.Duration{time.Second, 20 * time.Second, 3 * time.Minute}[h.rng.IntN(3)]))))
	h.watch.mu.Lock()
	crashed := h.watch.crashed
	h.watch.crashed = false
	h.watch.mu.Unlock()
	if crashed && h.stop != nil {
		h.watch.counts.crashes.Add(1)
		h.end()
		h.detachFilled()
	}
}

// detachFilled detaches, after a crash, the volumes that the agent requested last, and may remove them.
func (h *slotHistory) detachFilled() {
	time.Sleep(20 * time.Second) // the tasks end
	h.watch.follow()
	for _, s := range h.watch.last {
		if !h.holdsData(s) || h.rng.IntN(2) == 0 {
			continue
		}
		h.watch.counts.edits.Add(1)
		h.try("PUT", guestPath(s.vmid)+"/config", "delete="+s.slot)
		if unused := h.anyUnused(s.vmid); unused != "" && h.rng.IntN(2) == 0 {
			h.sim.AnnounceFree(h.sim.Value(s.vmid, unused))
			h.try("PUT", guestPath(s.vmid)+"/config", "delete="+unused)
		}
	}
}

func guestPath(vmid int) string {
	if vmid == 210 {
		return "/lxc/210"
	}
	return fmt.Sprintf("/qemu/%d", vmid)
}

// settle waits until the agent has read and done everything.
func (h *slotHistory) settle() {
	time.Sleep(4 * time.Minute)
	for _, g := range h.engine.Report().Guests {
		for _, step := range g.Held {
			h.watch.counts.kept.Add(int64(len(emptyVolumes.FindAllString(step.Message, -1))))
		}
	}
}

func (h *slotHistory) begin() {
	h.watch.mu.Lock()
	h.watch.left, h.watch.after = 0, h.rng.IntN(2) == 0
	if h.rng.IntN(2) == 0 {
		h.watch.left = 1 + h.rng.Int64N(5)
	}
	h.watch.mu.Unlock()
	h.Logf("%s start, crash at call %d", time.Now().Format(time.TimeOnly), h.watch.left)
	h.stop = h.start()
}

func (h *slotHistory) end() {
	h.Logf("%s stop", time.Now().Format(time.TimeOnly))
	h.stop()
	h.stop = nil
}

func (h *slotHistory) restart() {
	if h.stop != nil {
		h.watch.counts.restarts.Add(1)
		h.end()
		if h.rng.IntN(2) == 0 {
			return // edits and revisions come before the next start
		}
	}
	h.begin()
}

var emptyVolumes = regexp.MustCompile(`(\w+): creates an empty volume`)

// approveOne approves a held step.
func (h *slotHistory) approveOne() {
	if h.stop == nil {
		h.begin()
		return
	}
	for _, g := range h.engine.Report().Guests {
		for _, step := range g.Held {
			if step.Reason != reason.Approval || step.Digest == "" {
				continue
			}
			h.watch.mu.Lock()
			for _, m := range emptyVolumes.FindAllStringSubmatch(step.Message, -1) {
				h.watch.permitted[slotOf{g.VMID, m[1]}]++
			}
			h.watch.mu.Unlock()
			h.watch.counts.approvals.Add(1)
			h.approve(step.Digest)
			h.watch.mu.Lock()
			h.watch.revisions[h.repo.Tip] = maps.Clone(h.wants)
			h.watch.mu.Unlock()
			return
		}
	}
}

// change changes how the manifests mention a slot.
func (h *slotHistory) change() {
	s := managedSlots[h.rng.IntN(len(managedSlots))]
	switch h.wants[s] {
	case slotWanted:
		switch h.rng.IntN(3) {
		case 0:
			h.wants[s] = slotAbsent
		case 1:
			h.wants[s] = slotDropped
		default:
			h.sizes[s]++
		}
	default:
		h.wants[s], h.sizes[s] = slotWanted, 1+h.rng.IntN(2)
	}
}

// revise pushes the manifests.
func (h *slotHistory) revise() {
	var disks, mounts []string
	for _, s := range managedSlots {
		text := ""
		switch {
		case h.wants[s] == slotDropped:
			continue
		case h.wants[s] == slotAbsent:
			text = s.slot + ": {absent: true}"
		case s.vmid == 201:
			text = fmt.Sprintf("%s: {storage: local-lvm, size: %dGi}", s.slot, h.sizes[s])
		default:
			text = fmt.Sprintf("%s: {storage: local, size: %dGi, path: /%s}", s.slot, h.sizes[s], s.slot)
		}
		if s.vmid == 201 {
			disks = append(disks, text)
		} else {
			mounts = append(mounts, text)
		}
	}
	h.files["web.yaml"] = vmYAML("web-1", 201, "state: stopped", "disks: {"+strings.Join(disks, ", ")+"}")
	h.files["dns.yaml"] = dnsYAML("state: stopped", "mounts: {"+strings.Join(mounts, ", ")+"}")
	h.Logf("%s revision %v", time.Now().Format(time.TimeOnly), h.wants)
	h.watch.mu.Lock()
	defer h.watch.mu.Unlock()
	h.watch.revisions[h.push("next", alice)] = maps.Clone(h.wants)
	h.watch.counts.revisions.Add(1)
}

// try sends one write by hand. Proxmox may refuse it, for example because the agent works on the guest.
func (l *lab) try(method, path, form string) {
	l.Helper()
	l.tryOn("pve1", method, path, form)
}

// tryOn sends one write to a node by hand.
func (l *lab) tryOn(node, method, path, form string) {
	l.Helper()
	l.Logf("%s by hand: %s %s on %s %s", time.Now().Format(time.TimeOnly), method, path, node, form)
	r, err := http.NewRequestWithContext(l.Context(), method, "https://pve1.lab.test:8006/api2/json/nodes/"+node+path, strings.NewReader(form))
	l.ok(err)
	r.Header.Set("Authorization", "PVEAPIToken="+l.sim.Token(byHand))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	res, err := l.sim.Transport().RoundTrip(r)
	l.ok(err)
	_, _ = io.Copy(io.Discard, res.Body)
	l.ok(res.Body.Close())
}

// edit changes the drives of a guest by hand, on a random slot.
func (h *slotHistory) edit() {
	s := managedSlots[h.rng.IntN(len(managedSlots))]
	guest := guestPath(s.vmid)
	volume, unused := h.volume(s.vmid, s.slot), h.anyUnused(s.vmid)
	switch kind := h.rng.IntN(10); {
	case kind <= 2 && volume != "":
		h.try("PUT", guest+"/config", "delete="+s.slot)
	case kind == 3 && unused != "":
		h.sim.AnnounceFree(h.sim.Value(s.vmid, unused))
		h.try("PUT", guest+"/config", "delete="+unused)
	case kind == 4 && volume == "" && unused != "":
		h.put(s)
		h.try("PUT", guest+"/config", s.slot+"="+h.sim.Value(s.vmid, unused)+h.mountOf(s))
	case kind == 5 && volume != "":
		h.toAnotherSlot(s)
	case kind == 6 && volume != "":
		h.reassign(s, guest)
	case kind == 7 && volume != "":
		h.put(s)
		h.moveStorage(s, guest, volume)
	case kind == 8:
		h.snapshotOrRollBack(s.vmid, guest)
	case kind == 9 && volume == "":
		id := fmt.Sprintf("local-lvm:vm-%d-disk-%d", s.vmid, 50+h.rng.IntN(1000))
		h.ok(h.sim.AddVolume(id, 1<<30))
		h.put(s)
		h.try("PUT", guest+"/config", s.slot+"="+id+h.mountOf(s))
	}
}

// put notes that a person changes the volume in a slot now.
func (h *slotHistory) put(s slotOf) {
	h.watch.mu.Lock()
	defer h.watch.mu.Unlock()
	h.watch.since[s] = time.Now().Add(20 * time.Second) // when the task has ended
}

func (h *slotHistory) mountOf(s slotOf) string {
	if s.vmid == 210 {
		return "%2Cmp%3D/" + s.slot
	}
	return ""
}

// anyUnused returns an unused key of a guest whose volume is in no slot, "" if there is none. After a rollback a volume can be in both.
func (h *slotHistory) anyUnused(vmid int) string {
	var keys []string
	for i := range 8 {
		key := fmt.Sprintf("unused%d", i)
		if volume := h.sim.Value(vmid, key); volume != "" && strings.Count(h.currentConfig(vmid), ": "+volume) == 1 {
			keys = append(keys, key)
		}
	}
	if len(keys) == 0 {
		return ""
	}
	return keys[h.rng.IntN(len(keys))]
}

// toAnotherSlot edits the configuration file: the drive goes to another slot, and a drive that is there comes back in exchange.
func (h *slotHistory) toAnotherSlot(s slotOf) {
	others := []slotOf{{s.vmid, map[int]string{201: "scsi7", 210: "mp7"}[s.vmid]}}
	for _, other := range managedSlots {
		if other.vmid == s.vmid && other != s {
			others = append(others, other)
		}
	}
	other := others[h.rng.IntN(len(others))]
	h.Logf("%s by hand: %v to %v", time.Now().Format(time.TimeOnly), s, other)
	h.put(s)
	h.put(other)
	h.ok(h.sim.EditConfig(s.vmid, func(keys map[string]string) {
		a, b := keys[s.slot], keys[other.slot]
		delete(keys, s.slot)
		if keys[other.slot] = a; b != "" {
			keys[s.slot] = b
		}
	}))
}

// reassign gives the drive to another guest.
func (h *slotHistory) reassign(s slotOf, guest string) {
	if n := 10 + h.rng.IntN(20); s.vmid == 201 {
		h.try("POST", guest+"/move_disk", fmt.Sprintf("disk=%s&target-vmid=301&target-disk=scsi%d", s.slot, n))
	} else {
		h.try("POST", guest+"/move_volume", fmt.Sprintf("volume=%s&target-vmid=310&target-volume=mp%d", s.slot, n))
	}
}

// moveStorage moves the drive to another storage. Its source stays as an unused volume.
func (h *slotHistory) moveStorage(s slotOf, guest, volume string) {
	storage := "local2"
	if strings.HasPrefix(volume, "local2:") {
		storage = "local-lvm"
	}
	if s.vmid == 201 {
		h.try("POST", guest+"/move_disk", "disk="+s.slot+"&storage="+storage)
	} else {
		h.try("POST", guest+"/move_volume", "volume="+s.slot+"&storage="+storage)
	}
}

// snapshotOrRollBack takes a snapshot of a guest, or rolls it back to one.
func (h *slotHistory) snapshotOrRollBack(vmid int, guest string) {
	if n := h.snapshots[vmid]; n > 0 && h.rng.IntN(2) == 0 {
		for _, s := range managedSlots {
			if s.vmid == vmid {
				h.put(s)
			}
		}
		h.try("POST", fmt.Sprintf("%s/snapshot/s%d/rollback", guest, 1+h.rng.IntN(n)), "")
		return
	}
	h.snapshots[vmid]++
	h.try("POST", guest+"/snapshot", fmt.Sprintf("snapname=s%d", h.snapshots[vmid]))
}

// currentConfig returns the configuration of a guest without its snapshots.
func (h *slotHistory) currentConfig(vmid int) string {
	current, _, _ := strings.Cut(h.sim.Config(vmid), "\n[")
	return current
}

// wantOneSlotEach fails the test if two slots contain the same volume.
func (h *slotHistory) wantOneSlotEach() {
	h.Helper()
	in := map[string]string{}
	for _, vmid := range []int{201, 210, 301, 310} {
		for line := range strings.Lines(h.currentConfig(vmid)) {
			key, text, _ := strings.Cut(strings.TrimSpace(line), ": ")
			volume, _, _ := strings.Cut(text, ",")
			isSlot := strings.HasPrefix(key, "scsi") && key != "scsihw" || strings.HasPrefix(key, "mp") || key == "rootfs"
			if !isSlot || !strings.Contains(volume, ":") {
				continue
			}
			place := fmt.Sprintf("%s of %d", key, vmid)
			if other, taken := in[volume]; taken {
				h.Errorf("got %s in %s and in %s, want it in one", volume, other, place)
			}
			in[volume] = place
		}
	}
}
