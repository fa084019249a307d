package reconcile_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"gitops-agent/internal/pvesim"
	"gitops-agent/reconcile/guest"
	"gitops-agent/reconcile/reason"
	"gitops-agent/reconcile/report"
)

// byHand is the token of a person who changes guests in the web interface of Proxmox.
const byHand = "root@pam!full"

// withDisks is the manifest of a virtual machine with every kind of drive.
func withDisks(lines ...string) string {
	return vmYAML("web-1", 201, append(lines, "firmware: {bios: ovmf, efi: {storage: local}, tpm: {storage: local, version: v2.0}}",
		"cloudInit: {storage: local, user: ops}", "disks: {scsi0: {size: 3Gi}, scsi1: {storage: local-lvm, size: 4Gi}, scsi2: {storage: local-lvm, size: 4Gi}}")...)
}

func withMount(lines ...string) string {
	return dnsYAML(append(lines, "mounts: {mp0: {storage: local, size: 4Gi, path: /data}}")...)
}

// write changes the configuration of a guest by hand.
func (l *lab) write(vmid int, form string) {
	l.Helper()
	kind := "qemu"
	if vmid == 210 {
		kind = "lxc"
	}
	l.callAs(byHand, "PUT", fmt.Sprintf("/nodes/pve1/%s/%d/config", kind, vmid), form)
}

// volume returns the volume in a slot of a guest, "" if the slot is empty.
func (l *lab) volume(vmid int, slot string) string {
	volume, _, _ := strings.Cut(l.sim.Value(vmid, slot), ",")
	return volume
}

// unusedKey returns the unused key of a guest that names a volume.
func (l *lab) unusedKey(vmid int, volume string) string {
	for i := range 8 {
		if key := fmt.Sprintf("unused%d", i); l.sim.Value(vmid, key) == volume {
			return key
		}
	}
	return ""
}

// runLabWithDisks converges a virtual machine with disks (201) and a container with a mount point (210), and then runs the test. The function
// restart ends the agent and starts it again; meanwhile runs in between.
func runLabWithDisks(t *testing.T, state string, test func(t *testing.T, l *lab, restart func(meanwhile func()))) {
	t.Helper()
	runLab(t, nil, func(t *testing.T, l *lab) {
		l.sim.Guard()
		l.files["web.yaml"], l.files["dns.yaml"] = withDisks("state: "+state), withMount("state: "+state)
		l.push("two guests", alice)
		stop := l.start()
		defer func() { stop() }()
		l.converge()
		test(t, l, func(meanwhile func()) {
			stop()
			stop = func() {}
			meanwhile()
			stop = l.start()
		})
		if v := l.sim.Violations(); len(v) != 0 {
			t.Errorf("got violations %v, want none", v)
		}
	})
}

// TestIncidentDetachedDiskIsReplacedByAnEmptyOne detaches the volume of a managed slot by hand, while the agent runs and while it does not. The agent
// attaches the same volume again and creates none. A cloud-init drive contains nothing that Proxmox does not write again, so it is created again.
func TestIncidentDetachedDiskIsReplacedByAnEmptyOne(t *testing.T) {
	t.Parallel()
	detach := func(vmid int, slot string) func(l *lab) {
		return func(l *lab) { l.write(vmid, "delete="+slot) }
	}
	edited := func(vmid int, slot, instead string) func(l *lab) {
		return func(l *lab) {
			volume := l.volume(vmid, slot)
			l.ok(l.sim.EditConfig(vmid, func(keys map[string]string) {
				delete(keys, slot)
				if keys["unused0"] = volume; instead != "" {
					keys[slot] = instead
				}
			}))
		}
	}
	tests := map[string]struct {
		state  string
		vmid   int
		slots  []string
		detach func(l *lab)
	}{
		"disk_of_stopped_vm":   {"stopped", 201, []string{"scsi1"}, detach(201, "scsi1")},
		"disk_of_running_vm":   {"running", 201, []string{"scsi1"}, detach(201, "scsi1")},
		"disk_from_the_source": {"stopped", 201, []string{"scsi0"}, detach(201, "scsi0")},
		"two_disks":            {"stopped", 201, []string{"scsi1", "scsi2"}, func(l *lab) { detach(201, "scsi1")(l); detach(201, "scsi2")(l) }},
		"without_hotplug":      {"running", 201, []string{"scsi1"}, func(l *lab) { l.write(201, "hotplug=0"); detach(201, "scsi1")(l) }},
		"efi_disk":             {"stopped", 201, []string{"efidisk0"}, detach(201, "efidisk0")},
		"tpm_state":            {"stopped", 201, []string{"tpmstate0"}, detach(201, "tpmstate0")},
		"cloud_init":           {"stopped", 201, []string{"ide2"}, detach(201, "ide2")},
		"cdrom_in_its_place":   {"stopped", 201, []string{"scsi1"}, edited(201, "scsi1", "none,media=cdrom")},
		"mount_point":          {"stopped", 210, []string{"mp0"}, detach(210, "mp0")},
		"mount_point_running":  {"running", 210, []string{"mp0"}, func(l *lab) { detach(210, "mp0")(l); l.ok(l.sim.RestartInside(210)) }},
		"root_volume":          {"stopped", 210, []string{"rootfs"}, edited(210, "rootfs", "")},
	}
	for name, test := range tests {
		for when, offline := range map[string]bool{"running_agent": false, "stopped_agent": true} {
			t.Run(name+"/"+when, func(t *testing.T) {
				runLabWithDisks(t, test.state, func(t *testing.T, l *lab, restart func(func())) {
					held, volumes := map[string]string{}, l.volumesOf(test.vmid)
					for _, slot := range test.slots {
						held[slot] = l.volume(test.vmid, slot)
					}
					if offline {
						restart(func() { test.detach(l) })
					} else {
						test.detach(l)
					}
					eventually(l, "the volumes in their slots", func() bool {
						return !slices.ContainsFunc(test.slots, func(slot string) bool { return l.volume(test.vmid, slot) != held[slot] })
					})
					l.converge()
					if diff := cmp.Diff(volumes, l.volumesOf(test.vmid)); diff != "" {
						t.Errorf("volumes differ (-want +got):\n%s", diff)
					}
					if config := l.sim.Config(test.vmid); strings.Contains(config, "unused") && test.slots[0] != "rootfs" { // Proxmox keeps that entry
						t.Errorf("got config %q, want no unused volume", config)
					}
				})
			})
		}
	}
}

// TestIncidentLostDiskIsReplacedByAnEmptyOne empties a managed slot by hand in ways that leave nothing that can be attached again. The agent creates no
// volume until a person approves it: the hold names the volume and the reason.
func TestIncidentLostDiskIsReplacedByAnEmptyOne(t *testing.T) {
	t.Parallel()
	remove := func(vmid int, slot string) func(l *lab) {
		return func(l *lab) {
			volume := l.volume(vmid, slot)
			l.write(vmid, "delete="+slot)
			l.sim.AnnounceFree(volume)
			l.write(vmid, "delete="+l.unusedKey(vmid, volume))
		}
	}
	reassign := func(path, form string) func(l *lab) {
		return func(l *lab) { l.callAs(byHand, "POST", "/nodes/pve1/"+path, form) }
	}
	tests := map[string]struct {
		vmid   int
		slot   string
		change func(l *lab)
		why    string
	}{
		"removed":           {201, "scsi1", remove(201, "scsi1"), "no key of the guest names it"},
		"efi_disk_removed":  {201, "efidisk0", remove(201, "efidisk0"), "no key of the guest names it"},
		"tpm_state_removed": {201, "tpmstate0", remove(201, "tpmstate0"), "no key of the guest names it"},
		"mount_removed":     {210, "mp0", remove(210, "mp0"), "no key of the guest names it"},
		"reassigned":        {201, "scsi1", reassign("qemu/201/move_disk", "disk=scsi1&target-vmid=301&target-disk=scsi5"), "no key of the guest names it"},
		"mount_reassigned":  {210, "mp0", reassign("lxc/210/move_volume", "volume=mp0&target-vmid=310&target-volume=mp5"), "no key of the guest names it"},
		"in_another_slot": {201, "scsi1", func(l *lab) {
			l.ok(l.sim.EditConfig(201, func(k map[string]string) { k["scsi5"] = k["scsi1"]; delete(k, "scsi1") }))
		}, "the guest uses it as scsi5"},
		"used_by_another_vm": {201, "scsi1", func(l *lab) {
			l.ok(l.sim.Edit(301, "scsi5", l.sim.Value(201, "scsi1")))
			l.write(201, "delete=scsi1")
		}, "VirtualMachine/other (301) as scsi5"},
		"newer_copy_detached": {201, "scsi1", func(l *lab) {
			l.ok(l.sim.AddVolume("local-lvm:vm-201-disk-7", 4<<30))
			l.ok(l.sim.EditConfig(201, func(k map[string]string) {
				k["unused0"], k["unused1"] = strings.Split(k["scsi1"], ",")[0], "local-lvm:vm-201-disk-7"
				delete(k, "scsi1")
			}))
		}, "unused1=local-lvm:vm-201-disk-7"},
	}
	for name, test := range tests {
		for when, offline := range map[string]bool{"running_agent": false, "stopped_agent": true} {
			t.Run(name+"/"+when, func(t *testing.T) {
				runLabWithDisks(t, "stopped", func(t *testing.T, l *lab, restart func(func())) {
					l.files["other.yaml"] = strings.Replace(vmYAML("other", 301), "  source:", "  adopt: ifUnmanaged\n  source:", 1)
					_, err := l.sim.AddVM(pvesim.Guest{VMID: 301, Config: "name: other\nscsi0: local-lvm:vm-301-disk-0,size=4G\n"})
					l.ok(err)
					_, err = l.sim.AddCT(pvesim.Guest{VMID: 310, Config: "hostname: other\nrootfs: local:310/vm-310-disk-0.raw,size=4G\n"})
					l.ok(err)
					l.push("another guest", alice)
					l.converge()
					volume := l.volume(test.vmid, test.slot)
					if offline {
						restart(func() { test.change(l) })
					} else {
						test.change(l)
					}
					l.waitForHold(test.vmid, reason.Approval)
					l.waitForCondition(test.vmid, "Blocked", string(reason.VolumeLost), test.slot, volume, test.why)
					digest := l.digestOfHold(test.vmid)
					if h := l.guest(l.engine.Report(), test.vmid).Held[0]; h.Class != guest.Destructive || !strings.Contains(h.Message, volume) {
						t.Errorf("got hold %+v, want a destructive step that names %s", h, volume)
					}
					before := l.volumesOf(test.vmid)
					restart(func() {})
					l.remains(test.vmid, "the step held", func(g report.Guest) bool {
						return len(g.Held) == 0 && g.Sync == report.SyncUnknown || len(g.Held) == 1 && g.Held[0].Digest == digest
					})
					if diff := cmp.Diff(before, l.volumesOf(test.vmid)); diff != "" || l.volume(test.vmid, test.slot) != "" {
						t.Fatalf("got %s, want no volume in %s before an approval; volumes differ (-want +got):\n%s", l.sim.Config(test.vmid), test.slot, diff)
					}
					if name == "removed" && offline {
						l.cure(reason.AttachLost, l.saysOfVMID(test.vmid), func([]string) { // what a rescan does that finds the volume
							l.ok(l.sim.AddVolume(volume, 4<<30))
							l.ok(l.sim.Edit(test.vmid, "unused0", volume))
						})
						l.converge()
						if got := l.volume(test.vmid, test.slot); got != volume {
							t.Errorf("got %s in %s, want the volume that was found", got, test.slot)
						}
						return
					}
					l.approve(digest)
					eventually(l, "the approved volume", func() bool { return l.volume(test.vmid, test.slot) != "" })
					time.Sleep(time.Minute)
					if got := l.volume(test.vmid, test.slot); slices.Contains(before, got) || len(l.volumesOf(test.vmid)) != len(before)+1 {
						t.Errorf("got %s in %s and volumes %v, want one new volume beside %v", got, test.slot, l.volumesOf(test.vmid), before)
					}
				})
			})
		}
	}
}

// TestIncidentDetachedDiskIsTakenFromAnUnmanagedGuest gives the volume of a managed slot to a guest that no manifest names, under its old name. The agent
// neither attaches the volume again nor creates an empty one, until the other guest has released it.
func TestIncidentDetachedDiskIsTakenFromAnUnmanagedGuest(t *testing.T) {
	runLabWithDisks(t, "stopped", func(t *testing.T, l *lab, restart func(func())) {
		_, err := l.sim.AddVM(pvesim.Guest{VMID: 301, Config: "name: other\nscsi0: local-lvm:vm-301-disk-0,size=4G\n"})
		l.ok(err)
		before, volume := l.volumesOf(201), l.volume(201, "scsi1")
		restart(func() {
			l.ok(l.sim.Edit(301, "scsi5", l.sim.Value(201, "scsi1")))
			l.write(201, "delete=scsi1")
		})
		l.waitForCondition(201, volume, "301")
		time.Sleep(30 * time.Minute)
		if diff := cmp.Diff(before, l.volumesOf(201)); diff != "" || l.volume(201, "scsi1") != "" {
			t.Fatalf("got %s, want nothing in scsi1; volumes differ (-want +got):\n%s", l.sim.Config(201), diff)
		}
		l.ok(l.sim.Edit(301, "scsi5", ""))
		eventually(l, "the volume attached again", func() bool { return l.volume(201, "scsi1") == volume })
		l.converge()
	})
}
