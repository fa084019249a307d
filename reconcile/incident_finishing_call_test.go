package reconcile_test

import (
	"fmt"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"gitops-agent/internal/proxmox"
	"gitops-agent/internal/pvesim"
	"gitops-agent/reconcile/cluster"
)

// finishingCall is a call that finishes a step of guest 201 which has not reached its effect.
type finishingCall struct {
	manifest func(value int, lines ...string) string
	fault    pvesim.Fault // keeps the step from its effect
	op       cluster.Op
	sent     string // a pattern of the request
}

func finishingCalls() map[string]finishingCall {
	return map[string]finishingCall{
		"start_after_a_reboot": {
			func(cores int, lines ...string) string {
				return vmYAML("web-1", 201, append(lines, fmt.Sprintf("cpu: {cores: %d}", cores), "lifecycle: {rebootPolicy: auto}")...)
			},
			pvesim.Fault{Kind: pvesim.StaysDown, Path: "/status/reboot$"},
			cluster.OpStart, "/201/status/start$",
		},
		"cloud_init_drive": {
			func(user int, lines ...string) string {
				return vmYAML("web-1", 201, append(lines, fmt.Sprintf("cloudInit: {storage: local, user: ops-%d, onChange: regenerate}", user))...)
			},
			pvesim.Fault{Kind: pvesim.ErrorText, Path: "/cloudinit$", Method: "PUT", Text: "can't lock file - got timeout", Times: -1},
			cluster.OpCloudInit, "/201/cloudinit$",
		},
	}
}

// TestIncidentFinishingCallWaitsForAWriteSlot lets the call that finishes a step wait for a write slot. It is sent in a later epoch too, since no later
// plan contains it: otherwise a guest would stay down after its restart. It must not be sent to another guest, while writing is stopped, or against
// the manifest that is in force by then.
func TestIncidentFinishingCallWaitsForAWriteSlot(t *testing.T) {
	t.Parallel()
	replaceBy := func(add func(*pvesim.Sim, pvesim.Guest) (int, error), config string) func(*lab, finishingCall) {
		return func(l *lab, _ finishingCall) {
			l.ok(l.sim.RemoveGuest(201))
			_, err := add(l.sim, pvesim.Guest{VMID: 201, Config: config})
			l.ok(err)
		}
	}
	manifest := func(line string) func(*lab, finishingCall) {
		return func(l *lab, call finishingCall) {
			l.files["web.yaml"] = call.manifest(2, line)
			l.pushNow(line)
		}
	}
	const always = "start_after_a_reboot cloud_init_drive"
	causes := map[string]struct {
		meanwhile func(l *lab, call finishingCall)
		sent      string // the calls that must be sent
	}{
		"nothing_happens": {nil, always},
		"a_revision_about_another_guest": {func(l *lab, _ finishingCall) {
			l.files["db.yaml"] = vmYAML("db-1", 202, "state: stopped")
			l.pushNow("another guest")
		}, always},
		"another_machine_has_the_vmid":   {replaceBy((*pvesim.Sim).AddVM, "name: mail-0\nmemory: 512\n"), ""},
		"another_container_has_the_vmid": {replaceBy((*pvesim.Sim).AddCT, "hostname: mail-0\nmemory: 512\nrootfs: local:201/vm-201-disk-7.raw,size=4G\n"), ""},
		"the_guest_is_to_be_stopped":     {manifest("state: stopped"), "cloud_init_drive"},
		"the_guest_is_only_observed":     {manifest("mode: observe"), ""},
		"the_guest_is_suspended":         {manifest(`suspend: {until: "2000-01-02T00:00:00Z", reason: "a person works on it"}`), ""},
		"another_agent_claims":           {func(l *lab, _ finishingCall) { l.claimAsAnother() }, ""},
	}
	for name, call := range finishingCalls() {
		for cause, test := range causes {
			t.Run(name+"/"+cause, func(t *testing.T) {
				runLabWithProbe(t, nil, func(t *testing.T, l *lab, p *probe) {
					log := l.finishLater(p, call)
					before, guests := log.count(), l.sim.Config(201)
					if test.meanwhile != nil {
						test.meanwhile(l, call)
						guests = l.sim.Config(201)
					}
					l.freeWriteSlots()
					time.Sleep(time.Minute)
					sent := log.matching(before, regexp.MustCompile(call.sent))
					if want := strings.Contains(test.sent, name); (len(sent) > 0) != want {
						t.Errorf("got %q sent, want it sent: %t", sent, want)
					}
					if now := l.sim.Config(201); strings.Contains(now, "mail-0") && (now != guests || l.sim.Running(201)) {
						t.Errorf("got the other guest as %q, running %t, want it unchanged", now, l.sim.Running(201))
					}
				})
			})
		}
	}
}

// finishLater runs an agent until the call that finishes a step waits for a write slot. It returns the writes.
func (l *lab) finishLater(p *probe, call finishingCall) *writeLog {
	l.Helper()
	log := &writeLog{}
	p.Cluster = l.connect(proxmox.Options{Transport: &agentWire{next: l.sim.Transport(), log: log}, Timeout: time.Hour})
	l.addBusyGuests()
	l.files["web.yaml"] = call.manifest(1)
	l.push("three guests", alice)
	l.Cleanup(l.start())
	l.converge()
	l.ok(l.sim.SetRunning(201, true))
	time.Sleep(5 * time.Minute)
	l.ok(l.sim.Inject(call.fault))
	beforeChange := log.count()
	var begun atomic.Int64 // calls that finish the step; some of them begin to wait while the slots are being occupied
	p.setHooks(hooks{write: func(c cluster.Call) {
		if c.VMID == 201 && c.Op == call.op {
			begun.Add(1)
		}
	}})
	l.files["web.yaml"] = call.manifest(2)
	l.pushNow("the change")
	eventually(l, "the step to miss its effect", func() bool {
		return len(log.matching(0, regexp.MustCompile(`/201/(status/reboot|cloudinit)$`))) > 0 && l.sim.Running(201) == (call.op != cluster.OpStart)
	})
	l.occupyWriteSlots()
	l.sim.ClearFaults()
	eventually(l, "the call to wait", func() bool { return int(begun.Load()) > len(log.matching(beforeChange, regexp.MustCompile(call.sent))) })
	return log
}
