package reconcile_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"gitops-agent/internal/pvesim"
	"gitops-agent/reconcile/reason"
)

// tokenWithout returns the default privileges of the agent's token without some privileges.
func tokenWithout(privileges ...string) []pvesim.ACL {
	for _, token := range pvesim.DefaultTokens() {
		if token.ID == "gitops@pve!agent" {
			acl := slices.Clone(token.ACL)
			acl[0].Privileges = slices.DeleteFunc(slices.Clone(acl[0].Privileges), func(p string) bool { return slices.Contains(privileges, p) })
			return acl
		}
	}
	return nil
}

// TestIncidentProtectedGuestIsStoppedBeforeAFailedDestroy removes the manifest of a running, protected guest whose protection cannot be removed.
// The destroy would fail, so the agent must not stop the guest before it.
func TestIncidentProtectedGuestIsStoppedBeforeAFailedDestroy(t *testing.T) {
	t.Parallel()
	web := vmYAML("web-1", 201, "state: running", "lifecycle: {protection: true, destroy: allow}")
	tests := map[string]struct {
		vmid              int
		manifest, message string
		trouble           func(l *lab)
	}{
		"machine_no_privilege": {201, web, "VM.Config.Options", func(l *lab) { l.sim.SetPrivileges("gitops@pve!agent", tokenWithout("VM.Config.Options")) }},
		"machine_no_success": {201, web, "not today", func(l *lab) {
			l.ok(l.sim.Inject(pvesim.Fault{Method: "POST", Path: "/201/config$", Kind: pvesim.TaskFails, Text: "not today", Times: -1}))
		}},
		"container_no_privilege": {
			210, dnsYAML("state: running", "lifecycle: {protection: true, destroy: allow}"), "VM.Config.Options",
			func(l *lab) { l.sim.SetPrivileges("gitops@pve!agent", tokenWithout("VM.Config.Options")) },
		},
		"protected_by_hand": {201, vmYAML("web-1", 201, "state: running", "lifecycle: {destroy: allow}"), "VM.Config.Options", func(l *lab) {
			l.sim.SetPrivileges("gitops@pve!agent", tokenWithout("VM.Config.Options"))
			l.ok(l.sim.Edit(201, "protection", "1"))
		}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			runLabWithWire(t, pvesim.Options{}, func(t *testing.T, l *lab, w *wire) {
				l.files["keep.yaml"] = vmYAML("keep-1", 209)
				l.files["guest.yaml"] = test.manifest
				l.push("two guests", alice)
				defer l.start()()
				l.converge()
				l.sim.ResetCounters()
				test.trouble(l)
				delete(l.files, "guest.yaml")
				l.waitForAcceptance(l.push("remove one", alice))
				l.approve(l.digestOfHold(test.vmid))
				l.waitForCondition(test.vmid, test.message)
				time.Sleep(time.Hour)
				for _, suffix := range []string{"/status/stop", "/status/shutdown", "/qemu/201", "/lxc/210"} {
					if got := w.writes(suffix); len(got) != 0 {
						t.Errorf("got %+v sent, want only the attempts to remove the protection", got)
					}
				}
				if l.sim.Effects(test.vmid, pvesim.Stopped) != 0 || !l.sim.Running(test.vmid) || l.sim.Value(test.vmid, "protection") != "1" {
					t.Errorf("got %d stops of %q, want a running, protected guest", l.sim.Effects(test.vmid, pvesim.Stopped), l.sim.Config(test.vmid))
				}
				l.sim.ClearFaults()
				l.sim.SetPrivileges("gitops@pve!agent", tokenWithout())
				l.files["keep.yaml"] = vmYAML("keep-1", 209, "description: the token may do it now")
				l.push("again", alice)
				l.converge()
				if got := l.sim.Effects(test.vmid, pvesim.Destroyed); got != 1 {
					t.Errorf("got %d destroys of a guest whose protection can be removed, want 1", got)
				}
			})
		})
	}
}

// TestIncidentPurgeRemovesForeignVolumes destroys guests. Backup jobs and replication that contain their vmid, and volumes that have their vmid in
// the name but are in no configuration, do not belong to the guests: the call must not remove them.
func TestIncidentPurgeRemovesForeignVolumes(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		vmid           int
		path, manifest string
	}{
		"machine":   {201, "/nodes/pve1/qemu/201", vmYAML("web-1", 201, "state: running", "lifecycle: {destroy: allow}")},
		"container": {210, "/nodes/pve1/lxc/210", dnsYAML("state: running", "lifecycle: {destroy: allow}")},
		"managed":   {201, "/nodes/pve1/qemu/201", vmYAML("web-1", 201, "ha: {state: stopped}", "lifecycle: {destroy: allow, protection: true}")},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			runLabWithWire(t, pvesim.Options{}, func(t *testing.T, l *lab, w *wire) {
				l.sim.Guard()
				l.sim.SetPrivileges("gitops@pve!agent", []pvesim.ACL{{Path: "/", Role: "Administrator"}})
				l.files["keep.yaml"] = vmYAML("keep-1", 209)
				l.files["guest.yaml"] = test.manifest
				l.push("two guests", alice)
				defer l.start()()
				l.converge()
				foreign := []string{"local:201/vm-201-disk-90.qcow2", "local-lvm:vm-201-disk-91", "local:210/vm-210-disk-90.raw", "local-lvm:vm-210-disk-91"}
				for _, volume := range foreign {
					l.ok(l.sim.AddVolume(volume, 1<<30))
				}
				l.sim.AnnounceDestroy(test.vmid, l.journal.State().Owned[test.vmid].Tag)
				delete(l.files, "guest.yaml")
				l.waitForAcceptance(l.push("remove one", alice))
				if strings.Contains(test.manifest, "protection") {
					l.approve(l.digestOfHold(test.vmid))
				}
				l.converge()
				deletes := w.writes(test.path)
				if len(deletes) != 1 || len(deletes[0].params) != 0 {
					t.Errorf("got %+v, want one call to destroy the guest, without purge and destroy-unreferenced-disks", deletes)
				}
				left := l.volumesOf(test.vmid)
				if len(left) != 2 || !strings.Contains(left[0]+left[1], "disk-90") || !strings.Contains(left[0]+left[1], "disk-91") {
					t.Errorf("got volumes %v left, want the two that are in no configuration", left)
				}
				if v := l.sim.Violations(); len(v) != 0 || l.sim.Config(test.vmid) != "" {
					t.Errorf("got violations %v and config %q, want none", v, l.sim.Config(test.vmid))
				}
			})
		})
	}
}

// TestDestroyLimitHoldsAcrossLanes removes eight manifests whose guests may be destroyed. All lanes are below the limit when they judge, so each
// lane counts again when it begins: three guests are destroyed in a day, the others are held.
func TestDestroyLimitHoldsAcrossLanes(t *testing.T) {
	runLab(t, nil, func(t *testing.T, l *lab) {
		l.files["keep.yaml"] = vmYAML("keep-1", 250)
		for i := range 8 {
			l.files[fmt.Sprintf("web-%d.yaml", i)] = vmYAML(fmt.Sprintf("web-%d", i), 201+i, "lifecycle: {destroy: allow}")
		}
		l.push("nine guests", alice)
		defer l.start()()
		l.converge()
		for i := range 8 {
			delete(l.files, fmt.Sprintf("web-%d.yaml", i))
		}
		l.waitForAcceptance(l.push("one guest", alice))
		time.Sleep(time.Hour)
		destroyed, held := 0, 0
		for _, g := range l.engine.Report().Guests {
			if len(g.Held) == 1 && g.Held[0].Reason == reason.DestroyLimit {
				held++
			}
		}
		for i := range 8 {
			destroyed += l.sim.Effects(201+i, pvesim.Destroyed)
		}
		if destroyed != 3 || held != 5 {
			t.Errorf("got %d guests destroyed in an hour and %d held, want 3 and 5", destroyed, held)
		}
	})
}
