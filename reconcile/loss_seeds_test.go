package reconcile_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"gitops-agent/internal/pvesim"
	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/journal"
	"gitops-agent/reconcile/recovery"
)

var lossSeeds = newSeeds("loss", 8, "random histories with losses of the state directory")

// lossGuest is a guest of a random history.
type lossGuest struct {
	file, name string
	kind       string
	vmid       int // in the manifest; 0 if the agent assigns one
}

func (g lossGuest) yaml() string {
	text := vmYAML(g.name, 299, "lifecycle: {destroy: allow, recreate: allow}")
	if g.kind == "Container" {
		text = strings.Replace(strings.Replace(dnsYAML("lifecycle: {destroy: allow, recreate: allow}"), "name: dns-1", "name: "+g.name, 1), "vmid: 210", "vmid: 299", 1)
	}
	if g.vmid == 0 {
		return strings.Replace(text, "  vmid: 299\n", "", 1)
	}
	return strings.Replace(text, "vmid: 299", fmt.Sprintf("vmid: %d", g.vmid), 1)
}

// losses counts what happened in the histories.
type losses struct{ whole, older, inPVE, inGit, released atomic.Int64 }

// TestLossSeeds runs random histories: guests are added, the state directory is lost or replaced by an older copy at a random moment of a run, guests
// are renamed in Proxmox or in git, and sometimes the claimable guests are released. No guest may exist twice, none may be destroyed, and the
// agent may change no guest that others made, nor own one that it did not create without a release.
func TestLossSeeds(t *testing.T) {
	t.Parallel()
	var n losses
	lossSeeds.each(t, func(t *testing.T, seed uint64) {
		runLab(t, nil, func(_ *testing.T, l *lab) { l.runLosses(seed, &n) })
	}, func(t *testing.T) string {
		if n.whole.Load() == 0 || n.older.Load() == 0 || n.inPVE.Load() == 0 || n.inGit.Load() == 0 || n.released.Load() == 0 {
			t.Error("got no case of one kind, want every kind")
		}
		return fmt.Sprintf("%d whole losses, %d older copies, %d renames in Proxmox, %d in git, %d releases",
			n.whole.Load(), n.older.Load(), n.inPVE.Load(), n.inGit.Load(), n.released.Load())
	})
}

// runLosses runs the history of a seed.
func (l *lab) runLosses(seed uint64, n *losses) {
	rng := rand.New(rand.NewPCG(seed, 2))
	l.opts.TakeOver = true // a new state directory is another writer
	_, err := l.sim.AddVM(pvesim.Guest{VMID: 290, Config: "name: dave\nmemory: 512\ntags: gitops-0badc0de\n"})
	l.ok(err)
	_, err = l.sim.AddCT(pvesim.Guest{VMID: 150, Config: "hostname: dave-2\nmemory: 512\ntags: gitops-0badc0de\n"})
	l.ok(err)
	foreign := map[int]string{290: l.sim.Config(290), 150: l.sim.Config(150)}
	guests := []*lossGuest{
		{file: "web.yaml", name: "web-1", kind: "VirtualMachine", vmid: 201},
		{file: "dns.yaml", name: "dns-1", kind: "Container", vmid: 210},
		{file: "ct.yaml", name: "ct-1", kind: "Container"},
		{file: "db.yaml", name: "db-1", kind: "Container"},
	}
	l.opts.Recover = recovery.Note{Dir: l.state}
	l.push("no guest", alice)
	present := 0
	released := map[int]bool{}
	for round := range 5 {
		older := ""
		if round > 0 && rng.IntN(2) == 0 {
			older = l.copyState()
		}
		if present < len(guests) && rng.IntN(3) > 0 {
			g := guests[present]
			l.files[g.file] = g.yaml()
			present++
			l.push("another guest", alice)
		}
		l.runFor(time.Duration(1+rng.IntN(300))*time.Second, rng.IntN(2) == 0, released, n)
		switch rng.IntN(3) {
		case 0:
			l.loseState()
			n.whole.Add(1)
			l.renameInGit(rng, guests[:present], n)
		case 1:
			if older != "" {
				l.restoreState(older)
				n.older.Add(1)
			}
		}
		l.renameInProxmox(rng, n)
		l.checkLosses(seed, guests[:present], foreign, released)
	}
	l.runFor(20*time.Minute, false, released, n)
	l.checkLosses(seed, guests[:present], foreign, released)
}

// runFor runs the agent for a time. With release, a person releases the guests that would be claimed.
func (l *lab) runFor(d time.Duration, release bool, released map[int]bool, n *losses) {
	stop := l.start()
	defer stop()
	time.Sleep(d)
	r := l.engine.Report().Recovery
	if !release || r == nil {
		return
	}
	for _, g := range r.Guests { // a person gives the guests the names of their manifests
		if _, name, _ := strings.Cut(g.Manifest, "/"); g.Verdict == recovery.OtherName {
			l.ok(l.sim.Edit(g.VMID, map[bool]string{true: "hostname", false: "name"}[g.Kind == guest.Container], name))
		}
	}
	time.Sleep(2 * time.Minute)
	if r = l.engine.Report().Recovery; r == nil || r.Digest == "" {
		return
	}
	l.ok(l.opts.Recover.Write(recovery.Release{Digest: r.Digest, UID: 1, Since: time.Now()}))
	for _, g := range r.Claims() {
		released[g.VMID] = true
	}
	n.released.Add(1)
	time.Sleep(time.Minute)
}

// renameInGit gives a manifest another name, together with a whole loss: without a loss, another name without a vmid is another guest.
func (l *lab) renameInGit(rng *rand.Rand, guests []*lossGuest, n *losses) {
	if len(guests) == 0 || rng.IntN(2) == 0 {
		return
	}
	g := guests[rng.IntN(len(guests))]
	g.name = fmt.Sprintf("renamed-%d", rng.IntN(1000))
	l.files[g.file] = g.yaml()
	l.push("another name", alice)
	n.inGit.Add(1)
}

// renameInProxmox gives a guest of the agent another name.
func (l *lab) renameInProxmox(rng *rand.Rand, n *losses) {
	for _, g := range l.sim.Guests() {
		if g.VMID >= 200 && g.VMID < 290 && rng.IntN(3) == 0 {
			key := "name"
			if l.sim.Value(g.VMID, "hostname") != "" {
				key = "hostname"
			}
			l.ok(l.sim.Edit(g.VMID, key, fmt.Sprintf("by-hand-%d", rng.IntN(1000))))
			n.inPVE.Add(1)
		}
	}
}

// checkLosses checks what must hold at every moment.
func (l *lab) checkLosses(seed uint64, guests []*lossGuest, foreign map[int]string, released map[int]bool) {
	l.Helper()
	machines, containers := 0, 0
	for _, g := range l.sim.Guests() {
		switch {
		case foreign[g.VMID] != "" || g.VMID == 9000:
		case l.sim.Value(g.VMID, "hostname") != "":
			containers++
		default:
			machines++
		}
		if got := l.sim.Effects(g.VMID, pvesim.Destroyed); got != 0 {
			l.Errorf("seed %d: got guest %d destroyed %d times, want never", seed, g.VMID, got)
		}
	}
	wantedMachines := 0
	for _, g := range guests {
		if g.kind == "VirtualMachine" {
			wantedMachines++
		}
	}
	if machines > wantedMachines || containers > len(guests)-wantedMachines {
		l.Fatalf("seed %d: got %d machines and %d containers for %d guests, want no guest twice: %+v", seed, machines, containers, len(guests), l.sim.Guests())
	}
	for vmid, config := range foreign {
		if got := l.sim.Config(vmid); got != config {
			l.Errorf("seed %d: got guest %d of others changed to %q, want %q", seed, vmid, got, config)
		}
	}
	for vmid, owned := range l.journal.State().Owned {
		if foreign[vmid] != "" || owned.Origin == journal.Recovered && !released[vmid] || owned.Origin == journal.Adopted {
			l.Errorf("seed %d: got guest %d owned by %+v, want no claim that nobody released", seed, vmid, owned)
		}
	}
}
