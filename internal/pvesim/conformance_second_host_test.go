package pvesim

import (
	"net/http"
	"slices"
	"strings"
	"time"
)

// renew replaces a guest of the recorder by another one with the same vmid.
func renew(g Guest) hostAction {
	return func(r *replay) error {
		if vmid := r.vmid(g.VMID); r.sim.Config(vmid) != "" {
			r.removeWithVolumes(vmid)
		}
		return addGuestVM(g)(r)
	}
}

// run starts a guest without a task.
func run(vmid int) hostAction {
	return func(r *replay) error { return r.sim.SetRunning(r.vmid(vmid), true) }
}

func dropSnapshots(vmid int) hostAction {
	return func(r *replay) error {
		return r.sim.locked(func() error {
			r.sim.guests[r.vmid(vmid)].edit(func(conf *config) {
				conf.Snapshots = nil
				delete(conf.Values, "parent")
			})
			return nil
		})
	}
}

// noSaving makes the next task of a VM fail where QEMU would save its memory, which the recorder's QEMU could not.
func noSaving(vmid int, text string) hostAction {
	return func(r *replay) error {
		return r.sim.Inject(Fault{Kind: TaskFails, Method: http.MethodPost, VMID: r.vmid(vmid), Text: r.rename.text(text)})
	}
}

func destroyByHand(vmid int) hostAction {
	return func(r *replay) error { r.removeWithVolumes(r.vmid(vmid)); return nil }
}

// secondActions are what happened on the recorder's host without a recorded call, by file and number of the entry that they precede.
var secondActions = map[string]hostAction{
	"50/0": inOrder(renew(Guest{VMID: 9700, Config: "boot: order=scsi0;net0\nmemory: 64\nname: fw-vm\nscsihw: virtio-scsi-single\nscsi0: local:1,format=qcow2\n" +
		"net0: virtio=BC:24:11:B3:77:0F,bridge=vmbr0,firewall=1\n"}), agentMay("Sys.Modify")),
	"52/0":   dropRules(9700),
	"53/27":  dropRules(9700),
	"53/29":  noFirewall(9700),
	"54/89":  dropGroupRules("web"),
	"54/105": dropClusterRules,

	"55/0": inOrder(agentMay("Sys.Modify"), renew(Guest{VMID: 9703, Config: "name: bk-a\nmemory: 64\n"}),
		renew(Guest{VMID: 9704, Config: "name: bk-b\nmemory: 64\nscsi0: local:1,format=qcow2,backup=0\nscsi1: local:1,format=qcow2\n"}), destroyContainer(9722),
		addCT(9722, "arch: amd64\nhostname: bkct\nmemory: 64\nmp0: local:1,mp=/a\nmp1: local:1,mp=/b,backup=1\nostype: debian\nrootfs: local:1\nswap: 512\nunprivileged: 1\n"),
		poolOf9700(9703, 9722)),
	"55/16": generatedJob("08b9cb4f-e530-44df-b929-1b708ccb6219"),
	"55/19": generatedJob("428ac6d1-c2c9-455e-8f6c-6b5c97fe686c"),
	"55/21": generatedJob("a3a72276-e8ae-4fbc-b3e2-bf4752d58863"),
	"55/45": dropGeneratedJobs,
	"55/83": noneSees(ACL{Path: "/", Privileges: []string{"Sys.Audit"}}, ACL{Path: "/vms/9703", Role: "PVEAuditor"}, ACL{Path: "/vms/9704", Role: "PVEAuditor"}),
	"55/86": noneSees(),
	"56/0":  func(r *replay) error { r.sim.RemoveBackupJob("job-p"); r.sim.RemovePool(recordedPool(r)); return nil },
	"56/1":  generatedJob("9d033881-61cb-4036-8f5b-33e250d0a084"),
	"56/2":  generatedJob("200eb490-d3df-4d12-a4ec-da53bce6b722"),

	"57/0": inOrder(agentMay(), destroyContainer(9722), addCT(9722, "arch: amd64\nhostname: bkct\nlock: backup\nmemory: 64\nostype: debian\nrootfs: local:1\nswap: 512\nunprivileged: 1\n")),
	"57/8": inOrder(edit(9722, "lock", ""), run(9722)), // what startall did
	"58/0": renew(Guest{VMID: 9705, Config: "#d1\nname: sn\nmemory: 64\ntags: a\nscsihw: virtio-scsi-single\nscsi0: local:1,format=qcow2\n" +
		"ide2: local:iso/tiny.iso,media=cdrom\nnet0: virtio=BC:24:11:1F:00:74,bridge=vmbr0\n"}),
	"58/14":  dropSnapshots(9705),
	"58/43":  noSaving(9705, "VM 9705 qmp command 'query-savevm' failed - The command query-savevm has not been found"),
	"58/66":  renew(Guest{VMID: 9705, Config: "name: sn\nscsi0: local:1\n"}),
	"58/68":  renew(Guest{VMID: 9705, Config: "name: sn\n"}),
	"59/0":   renew(Guest{VMID: 9705, Config: "name: sn\nmemory: 64\nscsihw: virtio-scsi-single\nscsi0: local:1,format=qcow2\n"}),
	"59/20":  edit(9705, "template", ""),
	"60/0":   renew(Guest{VMID: 9708, Config: "name: run\nmemory: 64\nscsihw: virtio-scsi-single\nscsi0: local:1,format=qcow2\n"}),
	"60/17":  unresponsive(9708),
	"60/73":  noSaving(9708, "VM 9708 qmp command 'savevm-start' failed - The command savevm-start has not been found"),
	"60/55":  sleep(60 * time.Second),
	"60/64":  stop(9708),
	"60/72":  stop(9708),
	"60/81":  edit(9708, "lock", ""),
	"60/90":  edit(9708, "lock", ""),
	"60/98":  edit(9708, "lock", ""),
	"60/110": edit(9708, "template", "1"),
	"62/0": inOrder(publishRecorded(""), volume("local:iso/rec9700.iso", 70144), downloaded("local:iso/rec9700.iso"), volume("local:import/rec9700.raw", 1<<20), volume("local:import/rec9700.qcow2", 64<<20),
		volume("local:9700/vm-9700-disk-0.qcow2", 1<<30), storedSize("local:iso/rec9700.iso", 70000), storedSize("local:import/rec9700.qcow2", 393216)),
	"63/0":  inOrder(renew(Guest{VMID: 9730}), renew(Guest{VMID: 9731}), renew(Guest{VMID: 232}), managed(232)),
	"63/81": managed(9730),
	"64/0":  renew(Guest{VMID: 9732, Config: "name: rp\nmemory: 64\nscsi0: local:1,format=qcow2\n"}),
	"65/0": inOrder(sleep(3*time.Second), renew(Guest{VMID: 9740, Config: "name: po\nmemory: 64\n"}), renew(Guest{VMID: 9741, Config: "memory: 64\n"}),
		addPools("gitops-agent", "gitops-agent floor 56 4eecc34a8b0fd21be98e83a1c655e256e82bdd51 2026-11-22T09:21:46Z", "lab-a", "", "lab-b", "")),
	"65/40": sleep(10 * time.Second),
	"65/51": inOrder(destroyByHand(9740), sleep(3*time.Second), renew(Guest{VMID: 9740, Config: "name: po\nmemory: 64\n"})),
	"65/59": sleep(10 * time.Second),
	"65/75": noneSees(ACL{Path: "/pool/rec-p/sub", Role: "PVEAuditor"}),
	"65/76": noneSees(),
	"68/48": inOrder(destroyContainer(9727), addCT(9727, "#guest notes\narch: amd64\nhostname: pb\nmemory: 64\nostype: debian\nrootfs: local:1\nswap: 512\nunprivileged: 1\n")),
	"61/0":  publishRecorded("open3: exec of wget --progress=dot:giga -O /var/lib/vz/template/iso/rec9700.iso.tmp_dwnl.1 URL failed: No such file or directory at /usr/share/perl5/PVE/Cmd.pm line 174."),
	"68/0":  inOrder(unlinkVolume("local:iso/rec9700.iso"), unlinkVolume("local:import/rec9700.raw"), unlinkVolume("local:import/rec9700.qcow2"), publishRecorded("")),
	"68/6":  unlinkVolume("local:iso/rec9700.iso"),
	"68/8":  unlinkVolume("local:iso/rec9700.iso"),
	"68/10": unlinkVolume("local:iso/rec9700.iso"),
	"68/19": unlinkVolume("local:iso/rec9700.iso"),
	"68/26": unlinkVolume("local:iso/rec9700.iso"),
	"68/28": unlinkVolume("local:iso/rec9700.iso"),
	"68/68": noBackup("job errors"),
	"68/69": noBackup("job errors"),
	"68/74": noBackup("job errors"),
	"66/34": inOrder(destroyByHand(9750), destroyByHand(9751)),
}

// noneSees gives the token without privileges those of an entry.
func noneSees(entries ...ACL) hostAction {
	return func(r *replay) error {
		acl := []ACL{{Path: "/", Role: "NoAccess"}}
		for _, a := range entries {
			a.Path = r.rename.text(a.Path)
			acl = append(acl, a)
		}
		r.sim.SetPrivileges("root@pam!none9700", acl)
		return nil
	}
}

// generatedJob states which id the recorder's host gave to the newest job.
func generatedJob(recorded string) hostAction {
	return func(r *replay) error {
		r.upids[recorded] = r.sim.backupJobs[len(r.sim.backupJobs)-1].id
		return nil
	}
}

// dropGeneratedJobs removes the backup jobs whose ids were generated.
func dropGeneratedJobs(r *replay) error {
	return r.sim.locked(func() error {
		r.sim.backupJobs = slices.DeleteFunc(r.sim.backupJobs, func(j *backupJob) bool { return uuidPattern.MatchString(j.id) })
		return nil
	})
}

// recordedPool returns the name of the pool of the recordings 55 and 56.
func recordedPool(r *replay) string { return strings.TrimSuffix(r.rename.text("rec9700/"), "/") }

// poolOf9700 makes this pool with guests.
func poolOf9700(vmids ...int) hostAction {
	return func(r *replay) error {
		var renamed []int
		for _, vmid := range vmids {
			renamed = append(renamed, r.vmid(vmid))
		}
		r.sim.AddPool(recordedPool(r), "", renamed...)
		return nil
	}
}

// storedSize gives the file of a volume a size of its own.
func storedSize(id string, size int64) hostAction {
	return func(r *replay) error {
		return r.sim.locked(func() error { r.sim.volume(r.rename.text(id)).Stored = size; return nil })
	}
}

// managed has the HA manager manage a guest of the recorder that no other entry names.
func managed(vmid int) hostAction {
	return func(r *replay) error {
		return r.sim.locked(func() error {
			id := r.vmid(vmid)
			r.sim.ha[id] = &haResource{vmid: id, kind: QEMU, state: "stopped", extra: values{"max_restart": "2", "max_relocate": "3"}}
			return nil
		})
	}
}

// noBackup makes the next backup fail, because the recorder's host lacked a program or a part of its kernel.
func noBackup(text string) hostAction {
	return func(r *replay) error {
		return r.sim.Inject(Fault{Kind: TaskFails, Path: "/vzdump$", Text: text})
	}
}

func destroyContainer(vmid int) hostAction {
	return func(r *replay) error {
		if r.sim.Config(r.vmid(vmid)) != "" {
			r.removeWithVolumes(r.vmid(vmid))
		}
		return nil
	}
}

// addPools adds pools, each with its comment.
func addPools(pools ...string) hostAction {
	return func(r *replay) error {
		for i := 0; i < len(pools); i += 2 {
			r.sim.AddPool(pools[i], pools[i+1])
		}
		return nil
	}
}

// recordedSums are the checksums of the recorder's ISO image.
var recordedSums = map[string]string{
	"sha256": "b3fa1807ad1f23bb095ffd01f993ba0a43bd987063d4b8dbac81126cce5631fa",
	"sha512": "5b1a19fe58b2465c2e3a4212c8ecdc27f192bb0946bf54d29b765c5d39b68f1f93d1ae023360e6e025c94eb722945708ea0e5ed8599ff432f9f71b9876b06004",
}

// downloaded makes a volume the recorder's ISO image.
func downloaded(id string) hostAction {
	return func(r *replay) error {
		return r.sim.locked(func() error { r.sim.volume(r.rename.text(id)).checksums = recordedSums; return nil })
	}
}

// publishRecorded publishes the files of the recorder's web server. With a failure, the recorder's host had no wget.
func publishRecorded(failure string) hostAction {
	return func(r *replay) error {
		for address, file := range map[string]WebFile{
			"http://127.0.0.1:9797/a.iso":     {Size: 70000, Type: "application/x-iso9660-image", Checksums: recordedSums},
			"http://127.0.0.1:9797/c.iso.gz":  {Size: 70039, Type: "application/gzip", Compression: "gz", Unpacked: 70000},
			"http://127.0.0.1:9797/d.iso.zst": {Size: 70016, Type: "application/zstd", Compression: "zst", Unpacked: 70000},
			"http://127.0.0.1:9797/redir":     {RedirectTo: "http://127.0.0.1:9797/a.iso"},
			"http://127.0.0.1:9797/f.raw":     {Size: 1 << 20},
			"http://127.0.0.1:9797/b.img":     {Size: 70000},
			"http://127.0.0.1:9797/g.tar.gz":  {Size: 70215, Type: "application/gzip"},
			"https://127.0.0.1:8006/x.iso":    {SelfSigned: true, Status: "500 no such file '/x.iso'"},
		} {
			file.Failure = strings.Replace(failure, "URL", r.rename.text(address), 1)
			r.sim.Publish(r.rename.text(address), file)
		}
		return nil
	}
}

// agentMay gives the recorder's limited token further privileges.
func agentMay(more ...string) hostAction {
	return func(r *replay) error {
		r.sim.SetPrivileges("gitops@pve!agent", []ACL{{Path: "/", Privileges: slices.Concat(gitopsRole, more)}})
		return nil
	}
}

// dropRules removes the rules of a guest, noFirewall its whole firewall.
func dropRules(vmid int) hostAction {
	return func(r *replay) error {
		return r.sim.locked(func() error { r.sim.firewallOf(guestFirewall(r.vmid(vmid))).rules = nil; return nil })
	}
}

func noFirewall(vmid int) hostAction {
	return func(r *replay) error {
		return r.sim.locked(func() error { delete(r.sim.firewalls, guestFirewall(r.vmid(vmid))); return nil })
	}
}

func dropGroupRules(group string) hostAction {
	return func(r *replay) error {
		return r.sim.locked(func() error { r.sim.firewallOf(clusterFirewall).groups[group].rules = nil; return nil })
	}
}

func dropClusterRules(r *replay) error {
	return r.sim.locked(func() error { r.sim.firewallOf(clusterFirewall).rules = nil; return nil })
}
