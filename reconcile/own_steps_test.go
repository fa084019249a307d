package reconcile_test

import (
	"strings"
	"testing"
	"time"

	"gitops-agent/internal/pvesim"
)

// TestOwnWorkIsNotDrift lets the agent change a guest in several ways, each of which changes more than it names, or takes several cycles. No report, no event and no record
// says that others changed the guest.
func TestOwnWorkIsNotDrift(t *testing.T) {
	t.Parallel()
	full := func(l *lab) {
		l.grant("VM.Migrate", "VM.Snapshot", "VM.Snapshot.Rollback", "VM.Backup", "Sys.Modify", "Sys.Console", "Pool.Allocate")
	}
	tests := map[string]struct {
		before, after []string // of the manifest
		then          func(l *lab)
	}{
		"rollback by an order": {before: []string{"description: new", "memory: {size: 2Gi}", "tags: [web]"}, then: func(l *lab) {
			l.order("rollback" + web1 + " name=old")
			eventually(l, "the hold", func() bool { return l.hasHold(201) })
			l.approve(l.guest(l.engine.Report(), 201).Held[0].Digest)
			eventually(l, "the rollback", func() bool { return l.sim.Effects(201, pvesim.RolledBack) == 1 })
		}},
		"HA":                  {before: []string{"memory: {size: 1Gi}"}, after: []string{"memory: {size: 1Gi}", "ha: {state: started}"}},
		"HA, and stopped":     {before: []string{"ha: {state: started}"}, after: []string{"ha: {state: stopped}"}},
		"HA, and without":     {before: []string{"ha: {state: started}"}, after: []string{"ha: {absent: true}"}},
		"migration":           {before: []string{"placement: {prefer: [pve1], migrate: online}", "state: running"}, after: []string{"placement: {prefer: [pve2], migrate: online}", "state: running"}},
		"migration under HA":  {before: []string{"placement: {prefer: [pve1], migrate: online}", "ha: {state: started}"}, after: []string{"placement: {prefer: [pve2], migrate: online}", "ha: {state: started}"}},
		"order of tags":       {before: []string{"tags: [web]"}, after: []string{"tags: [Zeta, alpha, web, Beta]"}},
		"removal of a disk":   {before: []string{"disks: {scsi1: {storage: local, size: 1Gi}}", "state: running"}, after: []string{"disks: {scsi1: {absent: true}}", "state: running"}},
		"a larger disk moved": {before: []string{"disks: {scsi1: {storage: local, size: 1Gi}}", "state: running"}, after: []string{"disks: {scsi1: {storage: local-lvm, size: 2Gi}}", "state: running"}},
		"snapshots by a schedule": {before: []string{"state: running"}, after: []string{"state: running", "snapshots: {schedule: hourly, keep: 2}"}, then: func(*lab) {
			for range 4 {
				untilHour()
			}
		}},
		"a restart by the policy":      {before: []string{"state: running", "lifecycle: {rebootPolicy: auto}", "cpu: {cores: 1}"}, after: []string{"state: running", "lifecycle: {rebootPolicy: auto}", "cpu: {cores: 2}", "name: other"}},
		"another name, start and stop": {before: []string{"state: running"}, after: []string{"state: stopped", "description: down"}},
		"a stop by an order for a time": {before: []string{"state: running"}, then: func(l *lab) {
			l.order("shutdown" + web1 + " for=30m")
			eventually(l, "the stop", func() bool { return !l.sim.Running(201) })
			time.Sleep(time.Hour)
		}},
		"a restart by an order": {before: []string{"state: running"}, then: func(l *lab) { l.order("reboot" + web1) }},
		"a backup by an order":  {before: []string{"state: running"}, then: func(l *lab) { l.order("backup" + web1 + " storage=local") }},
		"a firewall":            {before: []string{"state: running"}, after: []string{"state: running", "firewall: {enable: true, keepOthers: true, rules: [{type: in, action: ACCEPT, protocol: tcp, port: '22'}]}"}},
		"a pool":                {before: []string{"state: running"}, after: []string{"state: running", "pool: web"}},
		"a template":            {before: []string{"state: stopped"}, after: []string{"template: true"}},
		"no value any more":     {before: []string{"description: x", "tags: [web]"}, after: []string{"unset: [description]", "tags: []"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			runLabOn(t, pvesim.Options{Nodes: []string{"pve1", "pve2"}, HADelay: 10 * time.Second}, func(t *testing.T, l *lab) {
				full(l)
				l.trustOtto()
				seen := &said{vmid: 201}
				l.opts.Hooks.OnReport, l.opts.Hooks.OnEvent = seen.report, seen.event
				manifest := func(lines []string) string {
					text := vmYAML("web-1", 201, lines...)
					if strings.Contains(text, "placement:") {
						text = strings.Replace(text, "  node: pve1\n", "", 1)
					}
					return text
				}
				l.byPerson("POST", "/pools", "poolid=web")
				if strings.HasPrefix(name, "rollback") {
					l.files["web.yaml"] = manifest([]string{"description: old", "memory: {size: 1Gi}", "tags: [db]"})
				} else {
					l.files["web.yaml"] = manifest(test.before)
				}
				l.push("one guest", alice)
				stop := l.start()
				defer func() { stop() }()
				l.converge()
				if strings.HasPrefix(name, "rollback") {
					l.byPerson("POST", webPath+"/snapshot", "snapname=old")
					l.files["web.yaml"] = manifest(test.before)
					l.push("newer", alice)
					l.converge()
				}
				time.Sleep(5 * time.Minute)
				if test.after != nil {
					l.files["web.yaml"] = manifest(test.after)
					l.push("the change", alice)
				}
				if test.then != nil {
					test.then(l)
				}
				for range 3 {
					time.Sleep(10 * time.Minute)
					if l.hasHold(201) {
						l.approve(l.guest(l.engine.Report(), 201).Held[0].Digest)
					}
				}
				stop()
				stop = l.start()
				time.Sleep(10 * time.Minute)
				for _, text := range seen.all {
					if !strings.HasPrefix(text, "Pending") {
						t.Errorf("got %q in a report, want no word of a change by others; all are %q", text, seen.all)
					}
				}
				if len(seen.events) != 0 || len(l.journal.State().Flapping) != 0 {
					t.Errorf("got the events %v and %v in the journal, want none", seen.events, l.journal.State().Flapping)
				}
				if r := l.engine.Report(); !r.Converged {
					t.Errorf("got %+v, want it converged", l.guest(r, 201))
				}
			})
		})
	}
}

// hasHold reports whether a step of a guest is held.
func (l *lab) hasHold(vmid int) bool { return len(l.guest(l.engine.Report(), vmid).Held) > 0 }
