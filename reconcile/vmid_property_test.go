package reconcile_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"gitops-agent/internal/pvesim"
	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/journal"
)

var vmidSeeds = newSeeds("vmid", 4, "random histories in which other guests take vmids")

// TestVMIDSeeds destroys managed machines and containers by hand at random moments, also while steps wait for a write slot and while a restart is not
// finished, and gives their vmids to other machines and containers, on the same node or another one. Manifests are changed, removed and restored
// meanwhile. The agent never changes, starts, stops or destroys a guest that took a vmid. A call that was sent before the vmid was taken is out of its
// reach, so no call to these guests is delayed in Proxmox.
func TestVMIDSeeds(t *testing.T) {
	t.Parallel()
	var sent, unfinished atomic.Int64
	var mu sync.Mutex
	taken := map[string]int{}
	vmidSeeds.each(t, func(t *testing.T, seed uint64) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			sim := newSim(t, pvesim.Options{Nodes: []string{"pve1", "pve2"}})
			h := &vmidHistory{lab: newLab(t, sim), rng: rand.New(rand.NewPCG(seed, 11)), others: map[int]string{}, taken: map[string]int{}}
			h.run()
			sent.Add(int64(h.sim.Writes()))
			unfinished.Add(int64(h.unfinished))
			mu.Lock()
			defer mu.Unlock()
			for how, n := range h.taken {
				taken[how] += n
			}
		})
	}, func(t *testing.T) string {
		if n := int64(*vmidSeeds.count); len(taken) < 4 || sent.Load() < 5*n || unfinished.Load() == 0 {
			t.Errorf("got vmids taken %v, %d writes, %d unfinished restarts in %d histories, want more: the property checks too little", taken, sent.Load(), unfinished.Load(), n)
		}
		return fmt.Sprintf("vmids taken by other guests %v, %d writes, %d restarts unfinished", taken, sent.Load(), unfinished.Load())
	})
}

// vmidHistory changes manifests and guests at random.
type vmidHistory struct {
	*lab
	rng        *rand.Rand
	others     map[int]string // descriptions of the guests that took a vmid
	taken      map[string]int // how many they are, by kind and node
	unfinished int            // vmids that were taken while the restart of their guest was not finished
}

// The managed guests: four machines and two containers.
const firstVMID, firstContainer, lastVMID = 201, 205, 206

func (h *vmidHistory) run() {
	h.files["cluster.yaml"] = clusterYAML + "  guards: {maxDestroysPerDay: 100}\n"
	h.addBusyGuests()
	for vmid := firstVMID; vmid <= lastVMID; vmid++ {
		h.manifest(vmid)
	}
	h.push("begin", alice)
	stop := h.start()
	h.converge()
	for round := range 5 {
		h.round(round)
		h.wantOthersUnchanged()
	}
	stop()
	for _, violation := range h.sim.Violations() {
		h.Error(violation)
	}
}

// manifest writes a random manifest of a guest.
func (h *vmidHistory) manifest(vmid int) {
	state := []string{"running", "running", "stopped"}[h.rng.IntN(3)]
	text := h.machine(vmid, state)
	if vmid >= firstContainer {
		text = strings.NewReplacer("dns-1", fmt.Sprintf("dns-%d", vmid), "vmid: 210", fmt.Sprintf("vmid: %d", vmid)).Replace(dnsYAML(h.lines(state)...))
	}
	h.files[fmt.Sprintf("%d.yaml", vmid)] = text
}

func (h *vmidHistory) lines(state string) []string {
	return []string{"state: " + state, "lifecycle: {destroy: allow, recreate: allow, rebootPolicy: auto}", fmt.Sprintf("cpu: {cores: %d}", 1+h.rng.IntN(4))}
}

// machine returns a random manifest of a virtual machine.
func (h *vmidHistory) machine(vmid int, state string) string {
	text := vmYAML(fmt.Sprintf("web-%d", vmid), vmid, h.lines(state)...)
	if h.rng.IntN(2) == 0 {
		text += fmt.Sprintf("  cloudInit: {storage: local, user: ops-%d, onChange: regenerate}\n", h.rng.IntN(3))
	}
	return text
}

// round changes manifests while the write slots are busy, and lets other guests take vmids before and after the slots are free.
func (h *vmidHistory) round(n int) {
	if h.rng.IntN(4) > 0 {
		h.occupyWriteSlots()
	}
	for range 2 + h.rng.IntN(3) {
		vmid := firstVMID + h.rng.IntN(lastVMID-firstVMID+1)
		if file := fmt.Sprintf("%d.yaml", vmid); h.files[file] != "" && h.rng.IntN(2) == 0 {
			delete(h.files, file)
		} else {
			h.manifest(vmid)
		}
	}
	if h.rng.IntN(2) == 0 {
		h.ok(h.sim.Inject(pvesim.Fault{Kind: pvesim.StaysDown, Path: "/status/reboot$", Times: -1}))
		for range 3 { // machines that restart
			vmid := firstVMID + h.rng.IntN(firstContainer-firstVMID)
			h.files[fmt.Sprintf("%d.yaml", vmid)] = h.machine(vmid, "running")
		}
	}
	h.push(fmt.Sprintf("round %d", n), alice)
	h.engine.Hint()
	h.takeSome(1+h.rng.IntN(3), 5*time.Second)
	h.sim.Release()
	h.takeSome(h.rng.IntN(3), 10*time.Second)
	h.takeUnfinished()
	h.sim.ClearFaults()
	time.Sleep(5 * time.Minute)
	h.sim.Release()
	time.Sleep(time.Minute)
}

// takeSome takes n vmids at random moments.
func (h *vmidHistory) takeSome(n int, within time.Duration) {
	for range n {
		time.Sleep(time.Duration(h.rng.Int64N(int64(within))))
		h.takeVMID(firstVMID + h.rng.IntN(lastVMID-firstVMID+1))
	}
}

// takeUnfinished takes the vmid of a guest whose restart is not finished, before or while the start that finishes it waits for a write slot. The agent
// makes that start three quarters of a minute after the guest went down.
func (h *vmidHistory) takeUnfinished() {
	for range 15 {
		time.Sleep(2 * time.Second)
		for _, open := range h.journal.State().Open {
			if open.Op == string(cluster.OpReboot) && !h.sim.Running(open.VMID) && h.others[open.VMID] == "" {
				time.Sleep(time.Duration(h.rng.Int64N(int64(45 * time.Second))))
				h.occupyWriteSlots()
				time.Sleep(time.Duration(h.rng.Int64N(int64(20 * time.Second))))
				h.takeVMID(open.VMID)
				h.sim.Release()
				return
			}
		}
	}
}

// takeVMID destroys the agent's guest with a vmid by hand, and creates another guest under it. Proxmox refuses parts of it while the agent works on
// the guest.
func (h *vmidHistory) takeVMID(vmid int) {
	if h.others[vmid] != "" {
		return
	}
	kind := "qemu"
	if vmid >= firstContainer {
		kind = "lxc"
	}
	path := fmt.Sprintf("/%s/%d", kind, vmid)
	h.try("POST", path+"/status/stop", "")
	time.Sleep(time.Second)
	unfinished := slices.ContainsFunc(h.journal.State().Open, func(o journal.OpenStep) bool { return o.VMID == vmid && o.Op == string(cluster.OpReboot) })
	h.try("DELETE", path, "")
	time.Sleep(time.Second)
	form := fmt.Sprintf("vmid=%d&memory=777&start=%d", vmid, h.rng.IntN(2))
	if kind, node := []string{"qemu", "lxc"}[h.rng.IntN(2)], []string{"pve1", "pve2"}[h.rng.IntN(2)]; kind == "qemu" {
		h.takeOn(node, vmid, kind, form+"&scsi0=local-lvm:1&name=other-"+fmt.Sprint(vmid), unfinished)
	} else {
		h.takeOn(node, vmid, kind, form+"&ostemplate=local:vztmpl/debian-12-standard_12.7-1_amd64.tar.zst&rootfs=local:1&hostname=other-"+fmt.Sprint(vmid), unfinished)
	}
}

// takeOn creates the other guest.
func (h *vmidHistory) takeOn(node string, vmid int, kind, form string, unfinished bool) {
	h.tryOn(node, "POST", "/"+kind, form)
	time.Sleep(5 * time.Second)
	if !strings.Contains(h.sim.Config(vmid), fmt.Sprintf("name: other-%d\n", vmid)) {
		return
	}
	h.others[vmid] = h.describe(vmid)
	h.taken[kind+" on "+node]++
	if unfinished {
		h.unfinished++
	}
}

// describe returns the configuration and the run state of a guest.
func (h *vmidHistory) describe(vmid int) string {
	return fmt.Sprintf("%s\nrunning: %t", h.sim.Config(vmid), h.sim.Running(vmid))
}

func (h *vmidHistory) wantOthersUnchanged() {
	h.Helper()
	for vmid, want := range h.others {
		if got := h.describe(vmid); got != want {
			h.Errorf("guest %d, which took the vmid of a managed guest: got\n%s\nwant it unchanged:\n%s", vmid, got, want)
		}
	}
}
