package pvesim

import (
	"regexp"
	"strings"
	"time"
)

// thirdOptions are the options of the recorder's three nodes.
func thirdOptions() Options {
	return Options{
		Nodes: []string{"pve1", "pve2", "pve3"},
		Storages: []Storage{
			{ID: "local", Type: "dir", Path: "/var/lib/vz", Content: "images,rootdir,iso,vztmpl,import,snippets,backup"},
			{ID: "shared", Type: "dir", Path: "/mnt/shared", Content: "images,rootdir,iso,vztmpl,import,backup", Shared: true},
			{ID: "only1", Type: "dir", Path: "/mnt/only1", Content: "images,rootdir", Nodes: "pve1"},
			{ID: "only2", Type: "dir", Path: "/mnt/only2", Content: "images,rootdir", Nodes: "pve2"},
		},
		Tokens: []Token{
			{ID: "root@pam!full", Secret: "5eed0000-0000-4000-8000-000000000001"},
			{ID: "rec@pve!vm", Secret: "5eed0000-0000-4000-8000-000000000002", ACL: []ACL{{Path: "/", Privileges: recRole}}},
		},
		TaskTime: 300 * time.Millisecond, ResourcesPeriod: 10 * time.Second, CPUs: 2, Memory: 25276510208,
		TaskTimes: map[string]time.Duration{"hastart": time.Second, "hastop": time.Second, "hamigrate": time.Second, "qmigrate": 4 * time.Second, "vzmigrate": 4 * time.Second},
	}
}

var recRole = strings.Fields(`VM.Allocate VM.Audit VM.Clone VM.Config.CDROM VM.Config.CPU VM.Config.Cloudinit VM.Config.Disk VM.Config.HWType
	VM.Config.Memory VM.Config.Network VM.Config.Options VM.Migrate VM.PowerMgmt VM.Snapshot VM.Snapshot.Rollback Datastore.Audit Datastore.AllocateSpace
	Datastore.AllocateTemplate SDN.Use Sys.Audit Sys.Console Sys.Modify Sys.PowerMgmt Pool.Audit Pool.Allocate`)

// recVM adds a virtual machine of the recorder, which has no operating system and so ignores a shutdown.
func recVM(vmid int, node string, running bool, more string) func(*Sim) {
	return func(s *Sim) {
		disk := "scsi0: shared:1,format=qcow2\n"
		if strings.Contains(more, "scsi0:") {
			disk = ""
		}
		_, err := s.AddVM(Guest{VMID: vmid, Node: node, Running: running, Config: "boot: order=scsi0\ncores: 1\nmemory: 64\nname: rec" + itoa(vmid) +
			"\nostype: l26\nscsihw: virtio-scsi-single\n" + disk + more})
		if err == nil {
			err = s.IgnoreShutdown(vmid)
		}
		if err != nil {
			panic(err)
		}
	}
}

func recCT(vmid int, node string) func(*Sim) {
	return func(s *Sim) {
		if _, err := s.AddCT(Guest{VMID: vmid, Node: node, Config: "arch: amd64\ncores: 1\nhostname: rec" + itoa(vmid) +
			"\nmemory: 64\nostype: unmanaged\nrootfs: shared:0.125\nswap: 512\nunprivileged: 1\n"}); err != nil {
			panic(err)
		}
	}
}

func all(acts ...func(*Sim)) func(*Sim) {
	return func(s *Sim) {
		for _, act := range acts {
			act(s)
		}
	}
}

func kill(vmid int) func(*Sim) { return func(s *Sim) { must(s.SetRunning(vmid, false)) } }

func setLock(vmid int, lock string) func(*Sim) {
	return func(s *Sim) { must(s.Edit(vmid, "lock", lock)) }
}

func maintain(on bool) func(*Sim) { return func(s *Sim) { s.SetMaintenance("pve3", on) } }

func must(err error) {
	if err != nil {
		panic(err)
	}
}

var thirdParts = []part{
	{
		name: "72", causes: true, start: all(phase(6500*time.Millisecond), lab("pve2", "pve3"), recVM(7201, "pve1", false, ""), recCT(7202, "pve2"), recVM(7203, "pve3", false, ""), listed),
		actions: map[int]func(*Sim){
			296: all(recVM(7204, "pve2", false, ""), maintain(true)), 354: recCT(7205, "pve2"),
			119: maintain(false), 195: kill(7202), 218: hideDisk(true), 248: hideDisk(false), 272: hideDisk(true), 285: hideDisk(false),
			307: kill(7204), 325: setLock(7204, "backup"), 345: setLock(7204, ""),
		},
	},
	{
		name: "73", causes: true, start: all(phase(6500*time.Millisecond), lab("pve1", "pve2", "pve3"), recVM(7301, "pve1", false, ""), recCT(7302, "pve2"), recVM(7303, "pve1", false, ""), recVM(7304, "pve2", false, ""),
			recVM(7305, "pve3", false, ""), recVM(7306, "pve3", false, ""), recVM(7307, "pve1", false, ""), addRecISO, listed),
		actions: map[int]func(*Sim){0: takes("qmigrate", 6500*time.Millisecond), 318: all(maintain(true), prefers("pve2")), 352: maintain(false)},
	},
	{
		name: "74", causes: true, start: all(lab("pve1", "pve2", "pve3"), recVM(7401, "pve1", false, ""), recCT(7402, "pve1"), recVM(7403, "pve1", false, "scsi0: local:1,format=qcow2\n"),
			addRecISO, recVM(7404, "pve1", false, "ide2: local:iso/rec.iso,media=cdrom\n"),
			recVM(7405, "pve1", false, "boot: order=scsi0;ide0\nide0: local:cloudinit\n"),
			recVM(7406, "pve1", false, "boot: order=scsi0;ide0\nciuser: x\nide0: shared:cloudinit\nide2: shared:iso/rec.iso,media=cdrom,size=68K\n"), listed),
		actions: map[int]func(*Sim){
			325: failStart(7405), 355: failStart(7406),
			225: takes("qmigrate", 13*time.Second), 26: takes("qmigrate", 4*time.Second), 55: takes("qmigrate", 6500*time.Millisecond), 410: takes("qmigrate", 26*time.Second),
			357: takes("qmigrate", 2*time.Second), 473: takes("qmigrate", 9*time.Second), 513: takes("qmigrate", 3*time.Second), 547: takes("qmigrate", 11*time.Second),
			589: takes("qmigrate", 3500*time.Millisecond), 621: takes("qmigrate", 2500*time.Millisecond), 450: takes("qmigrate", 6*time.Second), 464: takes("qmigrate", 6*time.Second),
			444: takes("qmigrate", 7*time.Second), 451: killTasks(7401), 460: setLock(7401, ""), 662: takes("vzmigrate", 50*time.Second), 697: takes("vzmigrate", 4*time.Second),
		},
	},
	{name: "75", section: "P1", start: lost, actions: map[int]func(*Sim){18: cutNode("pve1"), 319: healNode("pve1")}},
	{name: "75", section: "P2", start: all(lost, lab(), noted("at h+10 via pve1")), actions: map[int]func(*Sim){532: loseQuorum, 659: regain}},
	{name: "75", section: "P3", start: all(lost, lab(), noted("at h+10 via pve2")), actions: map[int]func(*Sim){758: powerOff("pve2"), 938: boot("pve2")}},
	{
		name: "75", section: "P4", start: all(lost, placed(7501, "pve3", true), placed(7502, "pve2", false), placed(7507, "pve1", false), lab("pve1", "pve3"), phase(time.Second), prefers("pve3")), causes: true,
		actions: map[int]func(*Sim){975: cutNode("pve2"), 990: boot("pve2")},
	},
	{
		name: "75", section: "P5", start: all(lost, placed(7501, "pve3", true), placed(7502, "pve3", true), placed(7507, "pve1", false), lab("pve1", "pve3")), causes: true,
		actions: map[int]func(*Sim){1000: powerOff("pve2")},
	},
	{
		name: "75", section: "P6", start: all(lost, placed(7501, "pve3", true), placed(7502, "pve3", true), placed(7507, "pve1", false), lab("pve3"), phase(time.Second), prefers("pve2")), causes: true,
		actions: map[int]func(*Sim){1017: cutNode("pve3"), 1030: boot("pve3")},
	},
}

// lost is the cluster of recording 75.
var lost = all(recVM(7501, "pve1", true, ""), recVM(7502, "pve2", true, ""), recVM(7503, "pve2", false, ""), recVM(7504, "pve1", false, ""), recVM(7505, "pve3", true, ""),
	recVM(7506, "pve3", false, ""), lab("pve2", "pve3"), func(s *Sim) {
		s.AddPool("gitops-agent", "gitops-agent floor 57 cfc56fcd054041cafd1fd61d0a9a406f1771ccf1 2026-11-28T04:07:22Z writer 23 EUNY5MBLZXYQO4J6")
		s.AddPool("recpool", "")
	}, listed)

// placed puts a guest on the node on which a later part of the recording has it, and adds it if it was created before.
func placed(vmid int, node string, running bool) func(*Sim) {
	return func(s *Sim) {
		if s.Config(vmid) == "" {
			_, err := s.AddVM(Guest{VMID: vmid, Node: node, Config: "memory: 64\nname: rec" + itoa(vmid) + "\n"})
			must(err)
			return
		}
		must(s.SetRunning(vmid, running))
		s.mu.Lock()
		defer s.mu.Unlock()
		s.guests[vmid].node = node
	}
}

func takes(typ string, d time.Duration) func(*Sim) {
	return func(s *Sim) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.opts.TaskTimes[typ] = d
	}
}

func killTasks(vmid int) func(*Sim) {
	return func(s *Sim) {
		s.mu.Lock()
		defer s.mu.Unlock()
		for _, t := range s.tasks {
			if t.vmid == vmid && t.ended.IsZero() {
				t.kill()
			}
		}
	}
}

func cutNode(name string) func(*Sim) { return func(s *Sim) { s.CutNode(name) } }

func healNode(name string) func(*Sim) { return func(s *Sim) { s.HealNode(name) } }

func powerOff(name string) func(*Sim) { return func(s *Sim) { s.powerOff(name) } }

func boot(name string) func(*Sim) {
	return func(s *Sim) {
		s.HealNode(name)
		s.RebootNode(name, 6500*time.Millisecond)
	}
}

// regain ends the loss, which the nodes notice after some seconds.
func regain(s *Sim) { s.afterDelay(3*time.Second, s.RegainQuorum) }

// loseQuorum takes the quorum from all nodes, which notice it after some seconds.
func loseQuorum(s *Sim) {
	s.LoseQuorum()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.quorumLost = time.Now().Add(s.memberDelay())
}

// listed lets the broadcast of states show the virtual machines.
func listed(s *Sim) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, g := range s.guests {
		if g.kind == QEMU {
			r := s.rowOf(g)
			g.lastBroadcast = &r
		}
	}
}

func failStart(vmid int) func(*Sim) {
	return func(s *Sim) {
		must(s.Inject(Fault{Kind: TaskFails, Path: "/" + itoa(vmid) + "/status/start$", Times: 1, Text: "no genisoimage"}))
	}
}

// lab is the manager of the stand: the master, and the local managers that were busy before.
func lab(active ...string) func(*Sim) {
	return func(s *Sim) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.haMaster = "pve3"
		for _, n := range s.opts.Nodes {
			s.local(n).mode = localIdle
		}
		for _, n := range active {
			s.local(n).mode = localActive
		}
	}
}

// phase makes the next round of the master begin after d.
func phase(d time.Duration) func(*Sim) {
	return func(s *Sim) { s.bootTime = s.bootTime.Add(d - 10*time.Second) }
}

// prefers names the node that the scheduler of the stand chose.
func prefers(node string) func(*Sim) { return func(s *Sim) { s.preferred = node } }

// noted is what earlier parts had written.
func noted(text string) func(*Sim) {
	return func(s *Sim) {
		for _, vmid := range []int{7501, 7502, 7503, 7504} {
			must(s.Edit(vmid, "description", text))
		}
		s.SetPoolComment("recpool", text)
	}
}

func addRecISO(s *Sim) {
	must(s.AddVolume("local:iso/rec.iso", 69632))
	must(s.AddVolume("shared:iso/rec.iso", 69632))
}

// hideDisk renames the disk of a guest on its storage, or names it back.
func hideDisk(hidden bool) func(*Sim) {
	return func(s *Sim) {
		volumes := s.storage("shared").volumes
		name := "7203/vm-7203-disk-0.qcow2"
		from, to := name, name+".hidden"
		if !hidden {
			from, to = to, from
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		if volumes[from] != nil {
			volumes[to] = volumes[from]
			delete(volumes, from)
		}
	}
}

// thirdOutside are calls whose answers cannot be compared.
var thirdOutside = []struct {
	file string
	call *regexp.Regexp
	why  string
}{
	{"75", regexp.MustCompile(`^GET \S*/nodes/\w+/status$`), "load, memory and processors of the stand"},
	{"75", regexp.MustCompile(`^GET \S*qmstart%3A7501%3Aroot%40pam%21full|^GET \S*/cluster/tasks$|^GET \S*/tasks\?limit=3$`), "tasks of what the recorder did before"},
}

// thirdStubbed are entries that show the stand and not Proxmox.
var thirdStubbed = map[string]string{
	"74/325": "the stand had no qemu-img dd", "74/355": "the stand had no qemu-img dd",
}

// standLine are lines of logs that the recorder's QEMU wrote.
var standLine = regexp.MustCompile(`query-backup|^transferred |average migration speed|^migration status|^VM 7\d+ qmp|conntrack`)
