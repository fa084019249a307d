package reconcile_test

import (
	"testing"
	"time"

	"gitops-agent/internal/pvesim"
	"gitops-agent/reconcile/reason"
)

// TestUnusedVolumeOfAGuardedGuest attaches an unused volume of a guest to another guest, which could then overwrite, move and delete it. Without an approval that happens only to
// a guest without a guard that stands for its data.
func TestUnusedVolumeOfAGuardedGuest(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		guards []string
		held   bool
	}{
		"protection":     {[]string{"lifecycle: {protection: true}"}, true},
		"destroy_deny":   {[]string{"lifecycle: {destroy: deny}"}, true},
		"backup":         {[]string{"backup: required"}, true},
		"without_guards": {nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			runLab(t, nil, func(t *testing.T, l *lab) {
				disks := func(list string) []string { return append([]string{"disks: {" + list + "}"}, test.guards...) }
				l.sim.SetBackupJob("nightly", map[string]string{"schedule": "daily", "enabled": "1", "all": "1"})
				l.files["db.yaml"], l.files["web.yaml"] = vmYAML("db-1", 201, disks("scsi0: {size: 3Gi}, scsi1: {storage: local-lvm, size: 4Gi}")...), vmYAML("web-1", 202, "lifecycle: {destroy: allow}")
				l.push("two guests", alice)
				defer l.start()()
				l.converge()
				volume := l.volume(201, "scsi1")
				l.files["db.yaml"] = vmYAML("db-1", 201, disks("scsi0: {size: 3Gi}")...)
				l.push("the slot is not managed", alice)
				l.converge()
				l.ok(l.sim.EditConfig(201, func(keys map[string]string) {
					delete(keys, "scsi1")
					keys["unused0"] = volume
				}))
				time.Sleep(10 * time.Minute)

				add := "disks: {scsi1: {volume: \"" + volume + "\"}}"
				without := l.files["web.yaml"]
				l.files["web.yaml"] = vmYAML("web-1", 202, "lifecycle: {destroy: allow}", add)
				l.push("its volume", alice)
				if !test.held {
					l.converge()
					return
				}
				web, fresh := objectCase{label: "VirtualMachine/web-1"}, objectCase{label: "VirtualMachine/new-1"}
				eventually(t, "the hold", func() bool { return l.objectHasReason(web, reason.Guard) })
				with := l.files["web.yaml"]
				l.files["web.yaml"], l.files["new.yaml"] = without, vmYAML("new-1", 203, add)
				l.push("a new guest", alice)
				eventually(t, "the condition", func() bool { return l.objectHasReason(fresh, reason.InUse) })
				time.Sleep(time.Hour)
				if l.volume(202, "scsi1") != "" || l.sim.Effects(203, pvesim.Created) != 0 {
					t.Fatalf("got %q in the slot, want it empty, and no new guest", l.volume(202, "scsi1"))
				}
				delete(l.files, "new.yaml")
				l.files["web.yaml"] = with
				l.push("no new guest", alice)
				eventually(t, "the hold again", func() bool { return l.objectHasReason(web, reason.Guard) })
				l.approve(l.object(web.label).Held[0].Digest)
				eventually(t, "the volume", func() bool { return l.volume(202, "scsi1") == volume })
			})
		})
	}
}
