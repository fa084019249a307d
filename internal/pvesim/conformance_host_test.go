package pvesim

import (
	"net/http"
	"slices"
	"time"
)

// hostAction repeats what happened on the recorder's host without a call.
type hostAction func(*replay) error

func (a hostAction) run(r *replay) {
	if a == nil {
		return
	}
	if err := a(r); err != nil {
		r.t.Logf("host action: %v", err)
	}
}

func edit(vmid int, key, value string) hostAction {
	return func(r *replay) error { return r.sim.Edit(r.vmid(vmid), key, value) }
}

// keepOnly removes every guest except the given ones, as the recorder did by hand between files.
func keepOnly(vmids ...int) hostAction {
	return func(r *replay) error {
		for _, g := range r.sim.Guests() {
			if !slices.ContainsFunc(vmids, func(id int) bool { return r.vmid(id) == g.VMID }) {
				if err := r.sim.RemoveGuest(g.VMID); err != nil {
					return err
				}
			}
		}
		return nil
	}
}

// holdLock holds a guest's lock for d, as a process on the host did.
func holdLock(vmid int, d time.Duration) hostAction {
	return func(r *replay) error {
		unlock, err := r.sim.LockGuest(r.vmid(vmid))
		if err == nil {
			time.AfterFunc(d, unlock)
		}
		return err
	}
}

// lostWorker makes the next create of a vmid lose its worker, as happened to the recorder by chance.
func lostWorker(vmid int) hostAction {
	return func(r *replay) error {
		return r.sim.Inject(Fault{Kind: LostWorker, Method: http.MethodPost, VMID: r.vmid(vmid)})
	}
}

func daemonDown(times int) hostAction {
	return func(r *replay) error { return r.sim.Inject(Fault{Kind: ProxyStatus, Status: 595, Times: times}) }
}

// noSendmail makes the next backup fail, because the recorder's host had no sendmail.
func noSendmail(r *replay) error {
	return r.sim.Inject(Fault{Kind: TaskFails, Path: "/vzdump$", Phase: BeforeBegin, Text: "unable to find command 'sendmail'"})
}

func sleep(d time.Duration) hostAction {
	return func(*replay) error { time.Sleep(d); return nil }
}

func unresponsive(vmid int) hostAction {
	return func(r *replay) error { return r.sim.IgnoreShutdown(r.vmid(vmid)) }
}

func responsive(vmid int) hostAction {
	return func(r *replay) error { r.sim.guests[r.vmid(vmid)].unresponsive = false; return nil }
}

func inOrder(actions ...hostAction) hostAction {
	return func(r *replay) error {
		for _, a := range actions {
			if err := a(r); err != nil {
				return err
			}
		}
		return nil
	}
}

func remove(vmid int) hostAction {
	return func(r *replay) error { return r.sim.RemoveGuest(r.vmid(vmid)) }
}

func addCT(vmid int, conf string) hostAction {
	return func(r *replay) error {
		_, err := r.sim.AddCT(Guest{VMID: r.vmid(vmid), Config: r.rename.text(conf)})
		return err
	}
}

func addGuestVM(g Guest) hostAction {
	return func(r *replay) error {
		g := g
		g.VMID, g.Config = r.vmid(g.VMID), r.rename.text(g.Config)
		_, err := r.sim.AddVM(g)
		return err
	}
}

func stop(vmid int) hostAction {
	return func(r *replay) error {
		time.Sleep(time.Second)
		return r.sim.SetRunning(r.vmid(vmid), false)
	}
}

func unlinkVolume(id string) hostAction {
	return func(r *replay) error {
		return r.sim.locked(func() error { r.sim.free(r.rename.text(id), freedOnHost); return nil })
	}
}

// listRace has a VM destroyed while the list is made.
func listRace(vmid int) hostAction {
	return func(r *replay) error {
		return r.sim.locked(func() error {
			r.sim.startListRace(r.vmid(vmid), r.sim.opts.Nodes[0], time.Second)
			return nil
		})
	}
}

func volume(id string, size int64) hostAction {
	return func(r *replay) error { return r.sim.AddVolume(r.rename.text(id), size) }
}

// stopCall140And120 repeats two calls that the recorder made without recording them.
func stopCall140And120(r *replay) error {
	s, node := r.sim, r.sim.opts.Nodes[0]
	for _, recorded := range []int{140, 120} {
		vmid := r.vmid(recorded)
		s.spawn(node, "qmstop", itoa(vmid), vmid, "root@pam!full", nil, func(t *task) error {
			return t.runOnGuest(QEMU, vmid, func() error {
				c := &call{sim: s, vars: values{"node": node, "vmid": itoa(vmid)}}
				g, err := c.findForTask(QEMU)
				if err == nil && g.running {
					s.markStopped(g)
				}
				return err
			})
		})
		time.Sleep(time.Second)
	}
	return nil
}

// written fills a volume with data, as the recorder did so that copies of it take time.
func written(id string, size int64) hostAction {
	return func(r *replay) error {
		return r.sim.locked(func() error { r.sim.volume(r.rename.text(id)).Data = size; return nil })
	}
}

// noGrowth gives the file system on a volume its former size, because the recorder's host could not grow mounted file systems.
func noGrowth(id string, size int64) hostAction {
	return func(r *replay) error {
		return r.sim.locked(func() error { r.sim.volume(r.rename.text(id)).FileSystem = size; return nil })
	}
}

// hostActions are keyed by the file and the number of the entry that they precede.
var hostActions = map[string]hostAction{
	"10/153": edit(110, "efidisk0", ""), // the recorder's host lacked virt-fw-vars
	"11/232": stop(120),                 // and the firmware
	"13/0":   inOrder(keepOnly(101, 110), edit(101, "cores", "2")),
	"13/3":   edit(130, "lock", "backup"),
	"13/25":  edit(130, "lock", ""),
	"17/0": inOrder(remove(140), addGuestVM(Guest{VMID: 140, Running: true, Config: "#v1\nagent: 1\nboot: order=ide2\ncores: 1\n" +
		"ide2: local:iso/tiny.iso,media=cdrom\nmemory: 256\nname: snap\nscsi0: local:1,format=qcow2\nscsihw: virtio-scsi-single\n"})),
	"15/1":   written("local:130/vm-130-disk-1.qcow2", 6*mib),
	"17/23":  unresponsive(140),
	"17/58":  edit(140, "kvm", "0"),
	"17/63":  inOrder(responsive(140), holdLock(140, 25*time.Second)),
	"18/0":   inOrder(stopCall140And120, volume("local:150/vm-150-disk-7.raw", mib)),
	"20/136": lostWorker(214),
	"20/138": lostWorker(216),
	"20/142": lostWorker(220),
	"20/177": holdLock(151, time.Minute),
	"21/0":   lostWorker(305),
	"22/10":  inOrder(edit(214, "lock", ""), edit(216, "lock", ""), edit(220, "lock", "")),
	"23/0":   keepOnly(101, 110),
	"25/0":   edit(401, "lock", ""),
	"26/0":   inOrder(remove(400), addCT(400, "arch: amd64\nhostname: CT400\nmemory: 512\nostype: alpine\nrootfs: local:1\nswap: 512\nunprivileged: 1\n")),
	"26/71":  noGrowth("local:400/vm-400-disk-0.raw", gib),
	"27/1":   inOrder(addGuestVM(Guest{VMID: 500, Config: "name: pm\n"}), sleep(11*time.Second)),
	"29/0":   inOrder(keepOnly(), volume("local:401/vm-401-disk-2.raw", gib)),
	"32/0":   keepOnly(520),
	"27/0":   keepOnly(404, 500),
	"27/18":  sleep(11 * time.Second),
	"32/6":   sleep(11 * time.Second),
	"32/7":   unresponsive(530),
	"32/34":  holdLock(530, 26*time.Second),
	"33/1":   inOrder(keepOnly(520), daemonDown(2)),
	"35/12":  noSendmail,
	"38/17":  unresponsive(570),
	"40/0":   keepOnly(),
	"33/4":   daemonDown(2),
	"40/19":  written("local:590/vm-590-disk-0.raw", 2*gib),
	"40/37":  sleep(3300 * time.Millisecond),
	"34/6":   unresponsive(550),
	"34/81":  volume("local:snippets/u.yaml", 20),
	"36/0":   listRace(581),
	"39/31":  unlinkVolume("local:iso/tiny.iso"),
	"39/38":  volume("local:iso/tiny.iso", 17825792),
	"39/42":  unlinkVolume("local:580/vm-580-disk-0.raw"),
}
