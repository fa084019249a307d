package main

import (
	"fmt"
	"slices"
	"strings"

	"gitops-agent/internal/pvesim"
)

// vm returns the manifest of a virtual machine. Lines are fields of spec.
func vm(name string, vmid int, lines ...string) string {
	if vmid != 0 {
		lines = append([]string{fmt.Sprintf("vmid: %d", vmid)}, lines...)
	}
	return manifestOf("VirtualMachine", name, lines...)
}

// made is a virtual machine that is cloned on the first node.
func made(name string, vmid int, lines ...string) string {
	return vm(name, vmid, append([]string{"node: pve1", "source: {clone: {name: tmpl-debian-12}}"}, lines...)...)
}

func manifestOf(kind, name string, lines ...string) string {
	return fmt.Sprintf("---\nkind: %s\nmetadata: {name: %s}\nspec:\n  %s\n", kind, name, strings.Join(lines, "\n  "))
}

// found adds a virtual machine that a person made.
func found(vmid int, name string, edits ...string) func(w *cureWorld) {
	return func(w *cureWorld) {
		w.Helper()
		w.addVM(vmid, name)
		for _, e := range edits {
			key, value, _ := strings.Cut(e, "=")
			w.ok(w.sim.Edit(vmid, key, value))
		}
	}
}

const ifUnmanaged = "adopt: ifUnmanaged"

// remedyCases is the table.
func remedyCases() []remedyCase {
	tag := func(vmid int, text string) func(w *cureWorld) {
		return func(w *cureWorld) { w.Helper(); w.ok(w.sim.Edit(vmid, "tags", text)) }
	}
	is := func(vmid int, key, value string) func(w *cureWorld) bool {
		return func(w *cureWorld) bool { return w.sim.Value(vmid, key) == value }
	}
	return []remedyCase{
		{remedy: "Adopt", subject: "VirtualMachine/adopt-1", before: found(301, "adopt-1"), files: vm("adopt-1", 301, "cpu: {cores: 3}"), edits: []edit{{"spec.adopt", ""}}, want: is(301, "cores", "3")},
		{remedy: "Adopt", subject: "VirtualMachine/adopt-2", before: found(302, "stranger"), files: made("adopt-2", 302), edits: []edit{{"spec.vmid", "303"}}, want: is(303, "name", "adopt-2")},
		{remedy: "AdoptMarked", subject: "VirtualMachine/adopt-3", before: found(304, "adopt-3", "tags=gitops-0badcafe"), files: vm("adopt-3", 304), edits: []edit{{"spec.adopt", ""}}, do: tag(304, "")},
		{remedy: "AdoptMarked", subject: "VirtualMachine/adopt-4", before: found(305, "adopt-4", "tags=gitops-1badcafe"), files: made("adopt-4", 305), edits: []edit{{"spec.vmid", "306"}}},
		{remedy: "RemoveForeignTag", subject: "VirtualMachine/adopt-5", before: found(307, "adopt-5", "tags=gitops-2badcafe"), files: vm("adopt-5", 307, ifUnmanaged), do: tag(307, "")},
		{remedy: "OtherVMIDOrKind", subject: "Container/kind-1", before: found(308, "kind-1"), files: manifestOf("Container", "kind-1", "vmid: 308", ifUnmanaged), edits: []edit{{"kind", "VirtualMachine"}}, now: "VirtualMachine/kind-1"},
		{remedy: "AddSource", subject: "VirtualMachine/source-1", files: vm("source-1", 310, "node: pve1"), edits: []edit{{"spec.source", "{clone: {name: tmpl-debian-12}}"}}},
		{remedy: "AddSource", subject: "VirtualMachine/source-2", before: found(311, "source-2"), files: vm("source-2", 312, "node: pve1", ifUnmanaged), edits: []edit{{"spec.vmid", "311"}}},
		{remedy: "CorrectSource", subject: "VirtualMachine/source-3", files: vm("source-3", 313, "node: pve1", "source: {clone: {name: tmpl-missing}}"), edits: []edit{{"spec.source", "{clone: {name: tmpl-debian-12}}"}}},
		{remedy: "MeantUnmarked", subject: "VirtualMachine/meant-1", before: found(250, "meant-1"), files: vm("meant-1", 0, "node: pve1", "source: {clone: {name: tmpl-debian-12}}"), edits: []edit{{"spec.vmid", ""}, {"spec.adopt", ""}}},
		{remedy: "MeantUnmarked", subject: "VirtualMachine/meant-2", before: found(251, "meant-2"), files: vm("meant-2", 0, "node: pve1", "source: {clone: {name: tmpl-debian-12}}"), edits: []edit{{"spec.vmid", "314"}}},
		{remedy: "RemoveSuspend", subject: "VirtualMachine/suspended-1", files: made("suspended-1", 315, "suspend: {reason: moved}"), edits: []edit{{"spec.suspend", "-"}}, approve: true},
		{remedy: "Enforce", subject: "VirtualMachine/observed-1", files: made("observed-1", 316), then: made("observed-1", 316, "mode: observe", "cpu: {cores: 3}"), edits: []edit{{"spec.mode", ""}}, approve: true, want: is(316, "cores", "3")},
		// What a manifest keeps the agent from.
		{
			remedy: "AllowDestroy", subject: "VirtualMachine/destroy-1", files: made("destroy-1", 317, "lifecycle: {destroy: deny}"), drop: []string{"VirtualMachine/destroy-1"},
			do: restored(made("destroy-1", 317, "lifecycle: {destroy: approve}")), approve: true, last: []string{"VirtualMachine/destroy-1"}, gone: true,
		},
		{
			remedy: "RemoveByHand", subject: "Pool/kept", files: manifestOf("Pool", "kept", "comment: x", "lifecycle: {destroy: deny}"), drop: []string{"Pool/kept"},
			do: func(w *cureWorld) { w.sim.RemovePool("kept") }, gone: true,
		},
		{
			remedy: "RestoreGuest", subject: "VirtualMachine/lost-1", files: made("lost-1", 318, "lifecycle: {recreate: deny}"), cause: func(w *cureWorld) { w.ok(w.sim.RemoveGuest(318)) },
			edits: []edit{{"spec.lifecycle.recreate", "approve"}}, approve: true,
		},
		{
			remedy: "RestartByHand", subject: "VirtualMachine/restart-1", files: made("restart-1", 319, "state: running"), then: made("restart-1", 319, "state: running", "cpu: {cores: 3}"),
			edits: []edit{{"spec.lifecycle.rebootPolicy", "auto"}}, approve: true, want: is(319, "cores", "3"),
		},
		{
			remedy: "RestartByHand", subject: "VirtualMachine/restart-2", files: made("restart-2", 320, "state: running"), then: made("restart-2", 320, "state: running", "cpu: {cores: 3}"),
			do: func(w *cureWorld) { w.ok(w.sim.SetRunning(320, false)); w.ok(w.sim.SetRunning(320, true)) },
		},
		{remedy: "ApproveDigest", subject: "VirtualMachine/removed-1", files: made("removed-1", 321), drop: []string{"VirtualMachine/removed-1"}, run: true, gone: true},

		// Objects.
		{remedy: "AdoptObject", subject: "Pool/found", before: func(w *cureWorld) { w.sim.AddPool("found", "by hand") }, files: manifestOf("Pool", "found", "comment: ours"), edits: []edit{{"spec.adopt", ""}}},
		{
			remedy: "RemoveForeignWord", subject: "Pool/marked", before: func(w *cureWorld) { w.sim.AddPool("marked", "by hand gitops-3badcafe") }, files: manifestOf("Pool", "marked", "comment: ours"),
			edits: []edit{{"spec.adopt", ""}}, do: func(w *cureWorld) { w.sim.SetPoolComment("marked", "by hand") },
		},
		{remedy: "AddNamed", subject: "BackupJob/nightly", files: manifestOf("BackupJob", "nightly", "schedule: daily", "storage: local", "guests: {pool: later}"), do: restored(manifestOf("Pool", "later", "comment: x"))},
		{
			remedy: "GiveLabels", subject: "BackupJob/labelled", files: manifestOf("BackupJob", "labelled", "schedule: daily", "storage: local", "guests: {labels: {tier: web}}"),
			do: restored("kind: VirtualMachine\nmetadata: {name: labelled-1, labels: {tier: web}}\nspec: {vmid: 322, node: pve1, source: {clone: {name: tmpl-debian-12}}}\n"),
		},
		{remedy: "ChangeSchedule", subject: "BackupJob/never", files: manifestOf("BackupJob", "never", "schedule: '2023-*-1 02:00'", "storage: local", "guests: {all: true}"), edits: []edit{{"spec.schedule", "daily"}}},

		// What Proxmox has or lacks.
		{remedy: "GrantAudit", world: "hidden", subject: "VirtualMachine/hidden-1", before: func(w *cureWorld) {
			found(323, "hidden")(w)
			w.sim.SetPrivileges("gitops@pve!agent", []pvesim.ACL{pvesim.DefaultTokens()[1].ACL[0], {Path: "/vms/323", Privileges: []string{"VM.Console"}}})
		}, files: made("hidden-1", 323), edits: []edit{{"spec.vmid", "324"}}},
		{remedy: "WaitForLock", subject: "VirtualMachine/locked-1", files: made("locked-1", 325), cause: func(w *cureWorld) { w.ok(w.sim.Edit(325, "lock", "backup")) }, do: func(w *cureWorld) { w.ok(w.sim.Edit(325, "lock", "")) }},
		{remedy: "CorrectNode", subject: "VirtualMachine/moved-1", before: foundOn("pve2", 326, "moved-1"), files: vm("moved-1", 326, ifUnmanaged, "node: pve1"), edits: []edit{{"spec.node", "pve2"}}},
		{remedy: "CorrectNode", subject: "VirtualMachine/moved-2", before: foundOn("pve2", 327, "moved-2"), files: vm("moved-2", 327, ifUnmanaged, "node: pve1"), edits: []edit{{"spec.placement.migrate", ""}}, approve: true},
		{
			remedy: "EndMaintenance", subject: "VirtualMachine/maintained-1", before: func(w *cureWorld) { w.sim.SetMaintenance("pve3", true) },
			files: vm("maintained-1", 328, "node: pve3", "source: {blank: {}}"), run: true,
		},
		{
			remedy: "AttachOrRemove", subject: "VirtualMachine/unused-1", before: func(w *cureWorld) {
				w.ok(w.sim.AddVolume("local-lvm:vm-329-disk-0", 1<<30))
				found(329, "unused-1", "unused0=local-lvm:vm-329-disk-0")(w)
			}, files: vm("unused-1", 329, ifUnmanaged),
			edits: []edit{{"spec.disks.SLOT.volume", "local-lvm:vm-329-disk-0"}},
		},
		{
			remedy: "MakeRoom", subject: "VirtualMachine/room-1", files: vm("room-1", 330, "placement: {auto: {nodes: [pve3]}}", "source: {blank: {}}", "disks: {scsi0: {storage: local-lvm, size: 1Gi}}"),
			edits: []edit{{"spec.placement.auto.nodes", "[pve1, pve2]"}},
		},
		{
			remedy: "EnableFirewall", subject: "VirtualMachine/walled-1", before: func(w *cureWorld) { w.sim.EnableFirewall() },
			files: made("walled-1", 331, "networks: {net0: {model: virtio, bridge: vmbr0, firewall: false}}", "firewall: {enable: true, rules: [{type: in, action: ACCEPT, protocol: tcp, port: \"22\"}]}"),
			edits: []edit{{"spec.networks.netN.firewall", ""}}, approve: true,
		},

		// What only root may set.
		{remedy: "SetAsRoot", subject: "VirtualMachine/root-1", files: made("root-1", 332, "raw: {args: \"-no-hpet\"}"), run: true, want: is(332, "args", "-no-hpet")},

		{remedy: "SetBeforeStart", subject: "Container/mounted-1", files: mounted("mounted-1", 333), run: true, want: func(w *cureWorld) bool { return w.sim.Running(333) }},
		{
			remedy: "SetBeforeStart", subject: "Container/mounted-2", files: mounted("mounted-2", 334), edits: []edit{{"spec.lifecycle.startWithout", ""}}, approve: true, still: true,
			want: func(w *cureWorld) bool { return w.sim.Running(334) },
		},
		{
			remedy: "Unlock", subject: "VirtualMachine/partly-1", before: found(335, "partly-1", "lock=create"), files: made("partly-1", 335), run: true,
			do: func(w *cureWorld) { w.ok(w.sim.RemoveGuest(335)) },
		},
		{
			remedy: "MeantMarked", subject: "VirtualMachine/meant-3", before: found(801, "meant-3", "tags=gitops-4badcafe"), files: vm("meant-3", 0, "node: pve1", "source: {clone: {name: tmpl-debian-12}}"),
			edits: []edit{{"spec.vmid", ""}, {"spec.adopt", ""}}, after: tag(801, ""),
		},
		{remedy: "CreateAgain", subject: "VirtualMachine/source-4", files: made("source-4", 336), then: vm("source-4", 336, "node: pve1", "source: {blank: {}}"), edits: []edit{{"spec.ignoreFields", "[source]"}}},
		{
			remedy: "SetHA", subject: "AffinityRule/apart", files: made("ha-1", 337) + made("ha-2", 338) + manifestOf("AffinityRule", "apart", "type: resource", "affinity: negative", "guests: [VirtualMachine/ha-1, VirtualMachine/ha-2]"),
			do: restored(made("ha-1", 337, "ha: {state: started}") + made("ha-2", 338, "ha: {state: started}")),
		},
		{remedy: "RestoreIdentity", subject: "VirtualMachine/replaced-1", files: made("replaced-1", 339), cause: func(w *cureWorld) {
			w.ok(w.sim.RemoveGuest(339))
			found(339, "another")(w)
		}, edits: []edit{{"spec.vmid", "340"}}, approve: true},
		{remedy: "RemoveForeignFile", subject: "Image/foreign", files: imageOf("foreign", "nodes: [pve1]"), before: func(w *cureWorld) {
			w.sim.Publish("https://images.example/foreign.iso", pvesim.WebFile{Size: 1 << 20, Checksums: map[string]string{"sha256": imageSum}})
			w.editConfig("images.allow", "[images.example]")
			w.ok(w.sim.AddVolume("local:iso/foreign-f00dfacef00d.iso", 1<<20))
		}, do: func(w *cureWorld) { w.ok(w.sim.RemoveVolume("local:iso/foreign-f00dfacef00d.iso")) }},

		{
			remedy: "SetComment", subject: "Pool/lines", before: func(w *cureWorld) { w.sim.AddPool("lines", "a\nb") },
			files: manifestOf("Pool", "lines", ifUnmanaged), edits: []edit{{"spec.comment", "ours"}},
		},
		{remedy: "LargerNode", subject: "VirtualMachine/memory-1", files: made("memory-1", 345, "state: running", "memory: {size: 4000Gi}"), edits: []edit{{"spec.memory.size", "1Gi"}}, approve: true},
		{
			remedy: "StartHibernated", subject: "VirtualMachine/asleep-1", files: made("asleep-1", 346, "state: running"), cause: func(w *cureWorld) {
				w.ok(w.sim.SetRunning(346, false))
				w.ok(w.sim.Edit(346, "lock", "suspended"))
			}, do: func(w *cureWorld) {
				w.ok(w.sim.Edit(346, "lock", ""))
				w.ok(w.sim.SetRunning(346, true))
			},
		},
		{
			remedy: "AnotherID", subject: "AffinityRule/typed", files: made("ha-3", 347, "ha: {state: started}") + made("ha-4", 348, "ha: {state: started}") +
				manifestOf("AffinityRule", "typed", "type: node", "nodes: [pve1]", "guests: [VirtualMachine/ha-3, VirtualMachine/ha-4]"),
			then: manifestOf("AffinityRule", "typed", "type: resource", "affinity: positive", "guests: [VirtualMachine/ha-3, VirtualMachine/ha-4]"), edits: []edit{{"id", "typed-2"}}, approve: true,
		},
		{remedy: "ListNodes", subject: "Image/listed", files: imageOf("listed"), before: func(w *cureWorld) {
			w.sim.Publish("https://images.example/listed.iso", pvesim.WebFile{Size: 1 << 20, Checksums: map[string]string{"sha256": imageSum}})
		}, edits: []edit{{"spec.nodes", "[pve1, pve2, pve3]"}}},
		{
			remedy: "CloneReaches", subject: "VirtualMachine/local-1", before: func(w *cureWorld) {
				_, err := w.sim.AddTemplate(pvesim.Guest{VMID: 9100, Node: "pve1", Config: "name: tmpl-local\nmemory: 512\nscsi0: local:9100/base-9100-disk-0.qcow2,size=1G\n"})
				w.ok(err)
			}, files: vm("local-1", 350, "node: pve2", "source: {clone: {name: tmpl-local, full: false}}"), edits: []edit{{"spec.node", "pve1"}},
		},
		{
			remedy: "GrantPath", world: "grant", subject: "VirtualMachine/grant-1", before: func(w *cureWorld) {
				lacking := slices.DeleteFunc(slices.Clone(pvesim.DefaultTokens()[1].ACL[0].Privileges), func(p string) bool { return p == "VM.Config.Memory" })
				w.sim.SetPrivileges("gitops@pve!agent", []pvesim.ACL{{Path: "/", Privileges: lacking}})
			}, files: made("grant-1", 201, "memory: {size: 3Gi}"), do: func(w *cureWorld) {
				w.sim.SetPrivileges("gitops@pve!agent", pvesim.DefaultTokens()[1].ACL)
				w.program("retry", "--all")
			}, want: is(201, "memory", "3072"),
		},
		{
			remedy: "SetInGuest", subject: "Container/keyed-1", files: keyed("keyed-1", 351, "ops"), then: keyed("keyed-1", 351, "dev"), edits: []edit{{"spec.ignoreFields", "[sshKeys]"}},
		},

		// What the host of the agent does not allow.
		{remedy: "AllowServer", world: "host", subject: "Image/debian", files: imageOf("debian", "nodes: [pve1]"), before: func(w *cureWorld) {
			w.editConfig("images.allow", "[other.example]")
			w.sim.Publish("https://images.example/debian.iso", pvesim.WebFile{Size: 1 << 20, Checksums: map[string]string{"sha256": imageSum}})
		}, edits: []edit{{"images.allow", "[images.example]"}}},
		{
			remedy: "AllowCheck", world: "host", subject: "VirtualMachine/checked-1", files: made("checked-1", 201, "health: {tcp: \"10.0.20.21:5432\"}"), before: func(w *cureWorld) { w.editConfig("checks.allow", "[\"10.9.0.0/16\"]") },
			edits: []edit{{"checks.allow", "[\"10.0.20.21:5432\"]"}},
		},
		{remedy: "AllowCheck", world: "host", subject: "VirtualMachine/checked-2", files: made("checked-2", 202, "health: {tcp: \"10.1.20.22:5432\"}"), edits: []edit{{"spec.health", "-"}}},
		{
			remedy: "HostMinimum", world: "host", subject: "VirtualMachine/bounded-1", files: made("bounded-1", 203, "lifecycle: {recreate: allow}"), before: func(w *cureWorld) { w.editConfig("trust.guards.recreate", "approve") },
			edits: []edit{{"trust.guards", "{}"}},
		},
		{
			remedy: "ByHand", world: "host", subject: "VirtualMachine/own-1", files: made("own-1", 204, "state: running"), then: made("own-1", 204, "state: stopped"),
			before: func(w *cureWorld) { w.editConfig("proxmox.self_vmid", "204") }, edits: []edit{{"proxmox.self_vmid", "209"}}, approve: true,
		},

		// Limits of the whole cluster.
		{
			remedy: "RaiseDestroyLimit", world: "limit", subject: "VirtualMachine/many-2", before: func(w *cureWorld) { w.add(limitedCluster) },
			files: made("stays", 201) + made("many-2", 203, "lifecycle: {destroy: allow}"), drop: []string{"VirtualMachine/many-2"}, edits: []edit{{"spec.guards.maxDestroysPerDay", "5"}}, approve: true, gone: true,
		},
		{
			remedy: "WidenVMIDs", world: "range", subject: "VirtualMachine/third", before: func(w *cureWorld) {
				w.add("kind: Cluster\nmetadata: {name: home}\nspec: {vmids: {from: 200, to: 201}}\n")
			},
			files: made("first", 200) + made("second", 201) + vm("third", 0, "node: pve1", "source: {clone: {name: tmpl-debian-12}}"), edits: []edit{{"spec.vmids", "{from: 200, to: 299}"}},
		},
		{remedy: "FreeTags", world: "tags", subject: "VirtualMachine/tagged-1", files: made("tagged-1", 201), before: func(w *cureWorld) {
			w.sim.SetPrivileges("gitops@pve!agent", pvesim.DefaultTokens()[1].ACL)
			w.sim.SetDatacenter(pvesim.Datacenter{TagAccess: "none"})
		}, do: func(w *cureWorld) {
			w.sim.SetDatacenter(pvesim.Datacenter{TagAccess: "free"})
			w.program("retry", "--all")
		}},
	}
}

// keyed is a container into which a key may log in.
func keyed(name string, vmid int, key string) string {
	return manifestOf("Container", name, fmt.Sprintf("vmid: %d", vmid), "node: pve1", "source: {template: {volume: \"local:vztmpl/debian-12.tar.zst\"}}", "unprivileged: true",
		"rootfs: {storage: local-lvm, size: 4Gi}", "sshKeys: [\"ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIMEXsBt6JGhURlK36Rj2dZ3oVIHElPKYsEQc2G4E2+QK "+key+"\"]")
}

// mounted is a container with a mount that only root may set.
func mounted(name string, vmid int) string {
	return manifestOf("Container", name, fmt.Sprintf("vmid: %d", vmid), "node: pve1", "source: {template: {volume: \"local:vztmpl/debian-12.tar.zst\"}}", "unprivileged: true",
		"rootfs: {storage: local-lvm, size: 4Gi}", "mounts: {mp1: {volume: /tank/media, path: /media}}", "state: running")
}

const limitedCluster = "kind: Cluster\nmetadata: {name: home}\nspec: {vmids: {from: 200, to: 299}, guards: {maxDestroysPerDay: 0}}\n"

const imageSum = "f00dfacef00dfacef00dfacef00dfacef00dfacef00dfacef00dfacef00dface"

func imageOf(name string, lines ...string) string {
	return manifestOf("Image", name, append([]string{"url: https://images.example/" + name + ".iso", "checksum: sha256:" + imageSum, "storage: local", "content: iso"}, lines...)...)
}

// restored adds manifests, or puts them back.
func restored(text string) func(w *cureWorld) {
	return func(w *cureWorld) { w.Helper(); w.add(text) }
}

// foundOn adds a virtual machine that a person made on a node.
func foundOn(node string, vmid int, name string) func(w *cureWorld) {
	return func(w *cureWorld) {
		w.Helper()
		_, err := w.sim.AddVM(pvesim.Guest{VMID: vmid, Node: node, Config: "name: " + name + "\nmemory: 1024\n"})
		w.ok(err)
	}
}
