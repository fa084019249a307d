package reconcile_test

import (
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"gitops-agent/internal/pvesim"
	"gitops-agent/reconcile/cluster"
	"gitops-agent/reconcile/journal"
	"gitops-agent/reconcile/plan"
	"gitops-agent/reconcile/reason"
	"gitops-agent/reconcile/report"
)

// byPerson makes a call with the token of a person, and waits until its task has ended.
func (l *lab) byPerson(method, path string, params ...string) {
	l.Helper()
	form := url.Values{}
	for _, p := range params {
		key, text, _ := strings.Cut(p, "=")
		form.Set(key, text)
	}
	request, err := http.NewRequestWithContext(l.Context(), method, "https://pve1.lab.test:8006/api2/json"+path, strings.NewReader(form.Encode()))
	l.ok(err)
	request.Header.Set("Authorization", "PVEAPIToken="+l.sim.Token("root@pam!full"))
	request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	reply, err := l.sim.Transport().RoundTrip(request)
	l.ok(err)
	defer func() { _ = reply.Body.Close() }()
	var body struct {
		Data    *string
		Message string
	}
	if err := json.NewDecoder(reply.Body).Decode(&body); err != nil || reply.StatusCode != http.StatusOK {
		l.Fatalf("%s %s: got %s %s %v", method, path, reply.Status, body.Message, err)
	}
	if body.Data == nil || !strings.HasPrefix(*body.Data, "UPID:") {
		return
	}
	task, err := l.cluster.Wait(l.Context(), *body.Data)
	l.ok(err)
	if !task.OK() {
		l.Fatalf("%s %s: got %s", method, path, task.Exit)
	}
}

const webPath = "/nodes/pve1/qemu/201"

// cloudInitVM is the manifest of web-1 with an address that only its cloud-init drive contains.
func cloudInitVM(address, policy string) string {
	return vmYAML("web-1", 201, "state: running", "lifecycle: {rebootPolicy: "+policy+"}", "cloudInit: {storage: local, user: ops, ip: {net0: {v4: "+address+"}}}")
}

// waiting returns what the condition of a pending restart says, "" without one.
func (l *lab) waiting(vmid int) string {
	l.Helper()
	for _, c := range l.guest(l.engine.Report(), vmid).Conditions {
		if c.Type == plan.PendingRestart && c.Reason == reason.PendingRestart {
			return c.Message
		}
	}
	return ""
}

const (
	waitsForStart = "written, in effect after the next stop and start: "
	notKnown      = "written, and not known to be in effect before the next stop and start: "
)

// knows reports whether the system of web-1 has read what its configuration says now.
func (l *lab) knows() bool { return l.sim.CloudInitRead(201) == l.sim.CloudInitNext(201) }

// TestCloudInitChangeWaitsForABoot changes the address of a running machine. After each cause of another process, the report says that the address waits
// until the system was booted, and agrees with what the system has read.
func TestCloudInitChangeWaitsForABoot(t *testing.T) {
	t.Parallel()
	stopAndStart := func(l *lab) {
		l.byPerson("POST", webPath+"/status/stop")
		l.byPerson("POST", webPath+"/status/start")
	}
	rollBackToOlderMemory := func(l *lab) {
		l.byPerson("POST", webPath+"/snapshot", "snapname=half", "vmstate=1")
		stopAndStart(l)
		eventually(l, "the boot", func() bool { return l.waiting(201) == "" })
		time.Sleep(5 * time.Minute)
		l.byPerson("POST", webPath+"/snapshot/half/rollback")
	}
	for name, test := range map[string]struct {
		then  func(l *lab)
		waits string // afterwards
	}{
		"nothing":                 {func(*lab) {}, waitsForStart + "ipconfig0"},
		"stop and start":          {stopAndStart, ""},
		"reboot":                  {func(l *lab) { l.byPerson("POST", webPath+"/status/reboot") }, ""},
		"reset":                   {func(l *lab) { l.byPerson("POST", webPath+"/status/reset") }, waitsForStart + "ipconfig0"},
		"reboot from inside":      {func(l *lab) { l.ok(l.sim.RestartInside(201)) }, waitsForStart + "ipconfig0"},
		"the drive is made again": {func(l *lab) { l.byPerson("PUT", webPath+"/cloudinit") }, waitsForStart + "ipconfig0"},
		"live migration": {func(l *lab) {
			l.byPerson("POST", webPath+"/migrate", "target=pve2", "online=1", "with-local-disks=1")
		}, waitsForStart + "ipconfig0"},
		"live migration and back": {func(l *lab) {
			l.byPerson("POST", webPath+"/migrate", "target=pve2", "online=1", "with-local-disks=1")
			l.byPerson("POST", "/nodes/pve2/qemu/201/migrate", "target=pve1", "online=1", "with-local-disks=1")
		}, waitsForStart + "ipconfig0"},
		"live migration, then a boot": {func(l *lab) {
			l.byPerson("POST", webPath+"/migrate", "target=pve2", "online=1", "with-local-disks=1")
			l.byPerson("POST", "/nodes/pve2/qemu/201/status/stop")
			time.Sleep(time.Minute) // the agent starts it
		}, ""},
		"start of a hibernated machine": {func(l *lab) {
			l.byPerson("POST", webPath+"/status/suspend", "todisk=1")
			l.byPerson("POST", webPath+"/status/start")
		}, waitsForStart + "ipconfig0"},
		"resumption of a hibernated machine": {func(l *lab) {
			l.byPerson("POST", webPath+"/status/suspend", "todisk=1")
			l.byPerson("POST", webPath+"/status/resume")
		}, waitsForStart + "ipconfig0"},
		"hibernation, then a boot": {func(l *lab) {
			l.byPerson("POST", webPath+"/status/suspend", "todisk=1")
			l.byPerson("POST", webPath+"/status/start")
			stopAndStart(l)
		}, ""},
		"rollback with memory": {func(l *lab) {
			l.byPerson("POST", webPath+"/snapshot/full/rollback") // to the address before, which is in effect in the memory too
		}, waitsForStart + "ipconfig0"},
		"rollback with memory, then a boot": {func(l *lab) {
			l.byPerson("POST", webPath+"/snapshot/full/rollback")
			time.Sleep(5 * time.Minute) // the address is repaired
			stopAndStart(l)
		}, ""},
		"rollback with memory, then a restart by the HA manager": {func(l *lab) {
			l.byPerson("POST", "/cluster/ha/resources", "sid=vm:201", "state=started")
			l.byPerson("POST", webPath+"/snapshot/full/rollback")
			time.Sleep(20 * time.Second)
			l.ok(l.sim.SetRunning(201, false))
		}, ""},
		"rollback to a memory from before the boot": {func(l *lab) {
			rollBackToOlderMemory(l)
		}, notKnown + "ipconfig0"},
		"rollback to such a memory, then another snapshot": {func(l *lab) {
			rollBackToOlderMemory(l)
			time.Sleep(2 * time.Second)
			l.byPerson("POST", webPath+"/snapshot", "snapname=later")
		}, notKnown + "ipconfig0"},
		"rollback to such a memory, then a live migration": {func(l *lab) {
			rollBackToOlderMemory(l)
			l.byPerson("POST", webPath+"/migrate", "target=pve2", "online=1", "with-local-disks=1")
		}, notKnown + "ipconfig0"},
		"rollback to a memory from after the boot": {func(l *lab) {
			stopAndStart(l)
			eventually(l, "the boot", func() bool { return l.waiting(201) == "" })
			time.Sleep(5 * time.Minute)
			l.byPerson("POST", webPath+"/snapshot", "snapname=half", "vmstate=1")
			time.Sleep(5 * time.Minute)
			l.byPerson("POST", webPath+"/snapshot/half/rollback")
		}, ""},
		"reboot, then a live migration": {func(l *lab) {
			l.byPerson("POST", webPath+"/status/reboot")
			l.byPerson("POST", webPath+"/migrate", "target=pve2", "online=1", "with-local-disks=1")
		}, ""},
		"two reboots and a resumption of a hibernated machine": {func(l *lab) {
			l.byPerson("POST", webPath+"/status/reboot")
			stopAndStart(l)
			l.byPerson("POST", webPath+"/status/suspend", "todisk=1")
			l.byPerson("POST", webPath+"/status/start")
		}, ""},
		"a start that no task shows": {func(l *lab) {
			l.ok(l.sim.SetRunning(201, false))
			l.ok(l.sim.SetRunning(201, true))
		}, notKnown + "ipconfig0"},
	} {
		t.Run(name, func(t *testing.T) {
			runLabWithTwoNodes(t, func(t *testing.T, l *lab) {
				l.files["cluster.yaml"], l.files["web.yaml"] = clusterYAML, cloudInitVM("10.0.20.11/24", "never")
				l.push("one guest", alice)
				defer l.start()()
				l.converge()
				time.Sleep(5 * time.Minute) // the snapshot is certainly from after the boot
				l.byPerson("POST", webPath+"/snapshot", "snapname=full", "vmstate=1")
				time.Sleep(2 * time.Minute)
				l.files["web.yaml"] = cloudInitVM("10.0.20.99/24", "never")
				l.push("another address", alice)
				eventually(l, "the restart that is missing", func() bool { return l.waiting(201) == waitsForStart+"ipconfig0" })
				test.then(l)
				time.Sleep(5 * time.Minute)
				if got := l.waiting(201); got != test.waits {
					t.Errorf("got %q, want %q", got, test.waits)
				}
				if got, want := l.guest(l.engine.Report(), 201).Sync, map[bool]report.Sync{true: report.Synced, false: report.OutOfSync}[test.waits == ""]; got != want {
					t.Errorf("got the guest %s, want %s", got, want)
				}
				if test.waits == "" && !l.knows() {
					t.Errorf("got in sync, and the system has read %q, not %q", l.sim.CloudInitRead(201), l.sim.CloudInitNext(201))
				}
			})
		})
	}
}

// TestRebootPolicyRestartsOnceForCloudInit lets the agent restart the machine for each change once. A change that is taken back before costs nothing.
func TestRebootPolicyRestartsOnceForCloudInit(t *testing.T) {
	runLab(t, nil, func(t *testing.T, l *lab) {
		l.files["web.yaml"] = cloudInitVM("10.0.20.11/24", "auto")
		l.push("one guest", alice)
		stop := l.start()
		l.converge()
		restarts := func(want int) {
			t.Helper()
			l.converge()
			time.Sleep(10 * time.Minute)
			if got := l.sim.Effects(201, pvesim.Stopped); got != want || !l.knows() {
				t.Errorf("got %d restarts, known to the system %t, want %d", got, l.knows(), want)
			}
		}
		restarts(0)
		l.files["web.yaml"] = cloudInitVM("10.0.20.12/24", "auto")
		l.push("another address", alice)
		restarts(1)
		l.byPerson("PUT", webPath+"/config", "ciuser=mallory") // and the agent repairs it before a boot
		eventually(l, "the repair", func() bool { return l.sim.Value(201, "ciuser") == "ops" })
		restarts(1)
		stop()
		defer l.start()()
		restarts(1)
	})
}

// TestUnknownNeverRestarts gives a guest of which nothing shows whether it was booted the policy auto.
func TestUnknownNeverRestarts(t *testing.T) {
	runLab(t, nil, func(t *testing.T, l *lab) {
		l.files["web.yaml"] = cloudInitVM("10.0.20.11/24", "never")
		l.push("one guest", alice)
		defer l.start()()
		l.converge()
		l.files["web.yaml"] = cloudInitVM("10.0.20.12/24", "never")
		l.push("another address", alice)
		eventually(l, "the restart that is missing", func() bool { return l.waiting(201) != "" })
		l.ok(l.sim.SetRunning(201, false))
		l.ok(l.sim.SetRunning(201, true))
		eventually(l, "the doubt", func() bool { return l.waiting(201) == notKnown+"ipconfig0" })
		l.files["web.yaml"] = cloudInitVM("10.0.20.12/24", "auto")
		l.push("restart it", alice)
		time.Sleep(10 * time.Minute)
		if got := l.sim.Effects(201, pvesim.Stopped); got != 1 || l.waiting(201) != notKnown+"ipconfig0" {
			t.Errorf("got %d stops and %q, want no restart by the agent", got, l.waiting(201))
		}
		l.byPerson("POST", webPath+"/status/reboot")
		l.converge()
	})
}

// TestBaselineIsInEffect adopts a machine, and starts with the journal of an older release: what a machine has counts as in effect, unless Proxmox lists it.
func TestBaselineIsInEffect(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		before   []string // changes of the running machine before the agent looks
		restarts int
	}{
		"as it booted":     {nil, 0},
		"unlisted change":  {[]string{"ipconfig0=ip=10.0.20.12/24"}, 0},
		"listed change":    {[]string{"ciuser=ops"}, 1},
		"listed additions": {[]string{"nameserver=10.0.0.1", "ciuser=ops"}, 1},
		"listed deletion":  {[]string{"delete=searchdomain"}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			runLab(t, nil, func(t *testing.T, l *lab) {
				_, err := l.sim.AddVM(pvesim.Guest{VMID: 201, Running: true, Config: "name: web-1\nnet0: virtio=BC:24:11:00:00:01,bridge=vmbr0\nide2: local:cloudinit\nciuser: old\n" +
					"ipconfig0: ip=10.0.20.11/24\nsearchdomain: lan\nscsi0: local:2\n"})
				l.ok(err)
				for _, change := range test.before {
					l.byPerson("PUT", webPath+"/config", change)
				}
				wanted := []string{"adopt: ifUnmanaged", "state: running", "lifecycle: {rebootPolicy: auto}"}
				raw := map[string]string{"ciuser": l.sim.Value(201, "ciuser"), "ipconfig0": "'" + l.sim.Value(201, "ipconfig0") + "'"}
				if server := l.sim.Value(201, "nameserver"); server != "" {
					raw["nameserver"] = server
				}
				list := []string{"unset: [searchdomain]"}
				if l.sim.Value(201, "searchdomain") != "" {
					list = []string{}
					raw["searchdomain"] = "lan"
				}
				var entries []string
				for key, text := range raw {
					entries = append(entries, key+": "+text)
				}
				slices.Sort(entries)
				wanted = append(append(wanted, list...), "raw: {"+strings.Join(entries, ", ")+"}")
				l.files["web.yaml"] = vmYAML("web-1", 201, wanted...)
				l.push("adopt", alice)
				defer l.start()()
				l.converge()
				time.Sleep(5 * time.Minute)
				if got := l.sim.Effects(201, pvesim.Stopped); got != test.restarts {
					t.Errorf("got %d restarts, want %d", got, test.restarts)
				}
			})
		})
	}
}

// TestUpgradeRestartsNothing continues with records of a release that recorded secrets alone.
func TestUpgradeRestartsNothing(t *testing.T) {
	runLab(t, nil, func(t *testing.T, l *lab) {
		l.files["web.yaml"] = cloudInitVM("10.0.20.11/24", "auto")
		l.push("one guest", alice)
		stop := l.start()
		l.converge()
		l.ok(l.journal.Append(l.Context(), journal.Applied{VMID: 201, Identity: l.journal.State().Owned[201].Identity, Fingerprints: map[string]string{"cipassword": "f"}}))
		stop()
		stop = l.start()
		l.converge()
		time.Sleep(5 * time.Minute)
		if got := l.journal.State().Applied[201]; got.Fingerprints["cipassword"] != "f" || got.InEffect["ipconfig0"].Print == "" {
			t.Errorf("got record %+v, want the secrets kept and what is in effect", got)
		}
		stop()
		if got := l.sim.Effects(201, pvesim.Stopped); got != 0 {
			t.Errorf("got %d restarts, want none", got)
		}
	})
}

// TestCrashAroundACloudInitChange crashes the agent between the change and its record, and between the restart and its record: the machine is restarted once.
func TestCrashAroundACloudInitChange(t *testing.T) {
	t.Parallel()
	for _, op := range []cluster.Op{cluster.OpConfig, cluster.OpReboot} {
		for _, at := range []string{"before-call", "after-call", "waiting"} {
			t.Run(string(op)+"/"+at, func(t *testing.T) {
				runLabWithTwoNodes(t, func(t *testing.T, l *lab) {
					l.files["web.yaml"] = cloudInitVM("10.0.20.11/24", "auto")
					l.crashAndRecover(op, at, func(l *lab) {
						l.files["web.yaml"] = cloudInitVM("10.0.20.99/24", "auto")
						l.push("another address", alice)
					})
					if got := l.sim.Effects(201, pvesim.Stopped); got != 1 || !l.sim.Running(201) || !l.knows() {
						t.Errorf("got %d restarts, running %t, known to the system %t, want one, running and known", got, l.sim.Running(201), l.knows())
					}
				})
			})
		}
	}
}

// TestContainerNameWaitsForAStart changes what Proxmox writes at once, and a container takes over at its start.
func TestContainerNameWaitsForAStart(t *testing.T) {
	runLab(t, nil, func(t *testing.T, l *lab) {
		dns := func(lines ...string) string { return dnsYAML(append(lines, "state: running")...) }
		l.files["dns.yaml"] = dns("hostname: dns-1", "networks: {net0: {name: eth0, bridge: vmbr0, mtu: 1400}}")
		l.push("one container", alice)
		defer l.start()()
		l.converge()
		l.files["dns.yaml"] = dns("hostname: dns-2", "networks: {net0: {name: eth0, bridge: vmbr0, mtu: 1500}}")
		l.push("another name and size of frames", alice)
		eventually(l, "what is missing", func() bool { return l.waiting(210) == waitsForStart+"hostname, net0" })
		l.ok(l.sim.RestartInside(210)) // every new process of a container is a boot
		l.converge()
		l.files["dns.yaml"] = dns("hostname: dns-2", "networks: {net0: {name: eth1, bridge: vmbr0, mtu: 1400}}")
		l.push("another device", alice)
		eventually(l, "the hold of a change that interrupts the network", func() bool {
			return slices.ContainsFunc(l.guest(l.engine.Report(), 210).Held, func(h report.HeldStep) bool { return h.Op == cluster.OpConfig })
		})
	})
}

// TestFirstLookWithoutTheList adopts a running machine and changes it at once, while Proxmox's list of what the cloud-init drive lacks cannot be read: the value of before
// is in effect. What the list says is known as soon as it is read.
func TestFirstLookWithoutTheList(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		before string // a change by a person before
		wanted string
		waits  string
	}{
		"a change of the agent":          {"", "{ciuser: ops, ipconfig0: 'ip=10.0.20.12/24', nameserver: 10.0.0.2}", waitsForStart + "ciuser, ipconfig0, nameserver"},
		"a change of before":             {"ciuser=ops", "{ciuser: ops, ipconfig0: 'ip=10.0.20.12/24'}", waitsForStart + "ciuser, ipconfig0"},
		"a change of before, of no step": {"ciuser=ops", "{ciuser: ops, ipconfig0: 'ip=10.0.20.11/24'}", waitsForStart + "ciuser"},
	} {
		t.Run(name, func(t *testing.T) {
			runLab(t, nil, func(t *testing.T, l *lab) {
				_, err := l.sim.AddVM(pvesim.Guest{VMID: 201, Running: true, Config: "name: web-1\nnet0: virtio=BC:24:11:00:00:01,bridge=vmbr0\nide2: local:cloudinit\nciuser: old\n" +
					"ipconfig0: ip=10.0.20.11/24\nscsi0: local:2\n"})
				l.ok(err)
				if test.before != "" {
					l.byPerson("PUT", webPath+"/config", test.before)
				}
				l.ok(l.sim.Inject(pvesim.Fault{Kind: pvesim.ErrorText, Method: "GET", Path: "/qemu/201/cloudinit$", Text: "timeout", Times: 2}))
				l.files["web.yaml"] = vmYAML("web-1", 201, "adopt: ifUnmanaged", "state: running", "lifecycle: {rebootPolicy: never}", "raw: "+test.wanted)
				l.push("adopt", alice)
				defer l.start()()
				eventually(l, "the adoption", func() bool { return l.journal.State().Owned[201].Identity != "" })
				eventually(l, "what waits", func() bool { return l.waiting(201) == test.waits })
				l.byPerson("POST", webPath+"/status/reboot")
				l.converge()
			})
		})
	}
}

// TestStartByHAIsABoot lets a person stop a machine by the HA manager, which starts it again for the agent, whose token sees no tasks of others.
func TestStartByHAIsABoot(t *testing.T) {
	t.Parallel()
	for name, delay := range map[string]time.Duration{"soon": time.Minute, "after minutes": 4 * time.Minute} {
		t.Run(name, func(t *testing.T) {
			runLabOn(t, pvesim.Options{HADelay: delay}, func(t *testing.T, l *lab) {
				all := append(slices.Clone(pvesim.DefaultTokens()[1].ACL[0].Privileges), "Sys.Console")
				onNode := slices.DeleteFunc(slices.Clone(all), func(p string) bool { return p == "Sys.Audit" })
				l.sim.SetPrivileges("gitops@pve!agent", []pvesim.ACL{{Path: "/", Privileges: all}, {Path: "/nodes/pve1", Privileges: onNode}})
				vm := func(address string) string {
					return vmYAML("web-1", 201, "ha: {state: started}", "lifecycle: {rebootPolicy: never}", "cloudInit: {storage: local, user: ops, ip: {net0: {v4: "+address+"}}}")
				}
				l.files["web.yaml"] = vm("10.0.20.11/24")
				l.push("one guest under HA", alice)
				defer l.start()()
				l.converge()
				eventually(l, "the start", func() bool { return l.sim.Running(201) && l.journal.State().Applied[201].Process.PID != 0 })
				l.files["web.yaml"] = vm("10.0.20.99/24")
				l.push("another address", alice)
				eventually(l, "what waits", func() bool { return l.waiting(201) == waitsForStart+"ipconfig0" })
				l.byPerson("PUT", "/cluster/ha/resources/vm:201", "state=stopped")
				l.ok(l.sim.SetRunning(201, false)) // as the manager does then
				eventually(l, "the next start", func() bool { return l.sim.Running(201) })
				time.Sleep(10 * time.Minute)
				if got := l.waiting(201); got != "" || !l.knows() {
					t.Errorf("got %q, known to the system %t, want nothing that waits", got, l.knows())
				}
			})
		})
	}
}

// TestClockStepsCostOneReading continues with a record by a clock that was hours off, as on a host whose clock is set after the agent has begun: the guest is looked at
// once, and not again after each resync.
func TestClockStepsCostOneReading(t *testing.T) {
	runLab(t, nil, func(t *testing.T, l *lab) {
		l.files["web.yaml"] = cloudInitVM("10.0.20.11/24", "auto")
		l.push("one guest", alice)
		stop := l.start()
		l.converge()
		time.Sleep(5 * time.Minute)
		record := l.journal.State().Applied[201]
		record.Process.Start = record.Process.Start.Add(-3 * time.Hour)
		l.ok(l.journal.Append(l.Context(), record))
		stop()
		defer l.start()()
		l.converge()
		time.Sleep(2 * time.Minute)
		l.sim.ResetCounters()
		time.Sleep(time.Hour)
		if got := l.sim.Counters().Routes["GET /nodes/{node}/qemu/{vmid}/status/current"]; got > 1 {
			t.Errorf("got %d readings of the process in an hour in which nothing happened, want none", got)
		}
	})
}
