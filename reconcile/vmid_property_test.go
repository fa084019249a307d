package reconcile_test

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"gitops-agent/internal/pvesim"
)

// The random histories of TestVMIDSeeds.
var (
	vmidSeeds = flag.Int("vmid-seeds", 12, "number of random histories in which other guests take vmids")
	vmidFirst = flag.Uint64("vmid-first", 0, "seed of the first of them")
)

// TestVMIDSeeds destroys managed guests by hand at random moments, also while steps wait for a write slot, and gives their vmids to other guests.
// Manifests are changed, removed and restored meanwhile. The agent never changes, stops or destroys a guest that took a vmid. A call that was sent
// before the vmid was taken is out of its reach, so no call to these guests is delayed in Proxmox.
func TestVMIDSeeds(t *testing.T) {
	var taken, sent atomic.Int64
	t.Cleanup(func() { // after the histories, which run in parallel
		fmt.Fprintf(os.Stderr, "vmid seeds: %d histories from seed %d, %d vmids taken by other guests, %d writes of the agent\n", *vmidSeeds, *vmidFirst, taken.Load(), sent.Load())
		if taken.Load() < int64(*vmidSeeds) || sent.Load() < 5*int64(*vmidSeeds) {
			t.Errorf("got %d vmids taken and %d writes in %d histories, want more: the property checks too little", taken.Load(), sent.Load(), *vmidSeeds)
		}
	})
	for i := range *vmidSeeds {
		seed := *vmidFirst + uint64(i)
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				h := &vmidHistory{lab: newLab(t, newSim(t, pvesim.Options{})), rng: rand.New(rand.NewPCG(seed, 11)), others: map[int]string{}}
				h.run()
				taken.Add(int64(len(h.others)))
				sent.Add(int64(h.sim.Writes()))
			})
		})
	}
}

// vmidHistory changes manifests and guests at random.
type vmidHistory struct {
	*lab
	rng    *rand.Rand
	others map[int]string // configurations of the guests that took a vmid, and of those that run the word running
}

func (h *vmidHistory) run() {
	h.files["cluster.yaml"] = clusterYAML + "  guards: {maxDestroysPerDay: 100}\n"
	h.addBusyGuests()
	for vmid := 201; vmid <= 206; vmid++ {
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
	state := []string{"running", "stopped"}[h.rng.IntN(2)]
	h.files[fmt.Sprintf("%d.yaml", vmid)] = vmYAML(fmt.Sprintf("web-%d", vmid), vmid, "state: "+state, "lifecycle: {destroy: allow, recreate: allow, rebootPolicy: auto}",
		fmt.Sprintf("cpu: {cores: %d}", 1+h.rng.IntN(4)))
}

// round changes manifests while the write slots are busy, and lets other guests take vmids before and after the slots are free.
func (h *vmidHistory) round(n int) {
	if h.rng.IntN(4) > 0 {
		h.occupyWriteSlots()
	}
	for range 2 + h.rng.IntN(3) {
		vmid := 201 + h.rng.IntN(6)
		if file := fmt.Sprintf("%d.yaml", vmid); h.files[file] != "" && h.rng.IntN(2) == 0 {
			delete(h.files, file)
		} else {
			h.manifest(vmid)
		}
	}
	h.push(fmt.Sprintf("round %d", n), alice)
	h.engine.Hint()
	for range 1 + h.rng.IntN(3) {
		time.Sleep(time.Duration(h.rng.Int64N(int64(5 * time.Second))))
		h.takeVMID(201 + h.rng.IntN(6))
	}
	h.sim.Release()
	for range h.rng.IntN(3) {
		time.Sleep(time.Duration(h.rng.Int64N(int64(10 * time.Second))))
		h.takeVMID(201 + h.rng.IntN(6))
	}
	h.sim.ClearFaults()
	time.Sleep(5 * time.Minute)
	h.sim.Release()
	time.Sleep(time.Minute)
}

// takeVMID destroys the agent's guest with a vmid by hand, and creates another guest under it. Proxmox refuses parts of it while the agent works on
// the guest.
func (h *vmidHistory) takeVMID(vmid int) {
	if h.others[vmid] != "" {
		return
	}
	path := fmt.Sprintf("/qemu/%d", vmid)
	h.try("POST", path+"/status/stop", "")
	time.Sleep(time.Second)
	h.try("DELETE", path, "")
	time.Sleep(time.Second)
	h.try("POST", "/qemu", fmt.Sprintf("vmid=%d&name=other-%d&memory=777&scsi0=local-lvm:1&start=%d", vmid, vmid, h.rng.IntN(2)))
	time.Sleep(3 * time.Second)
	if strings.Contains(h.sim.Config(vmid), fmt.Sprintf("name: other-%d\n", vmid)) {
		h.others[vmid] = h.describe(vmid)
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
