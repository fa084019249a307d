package reconcile_test

import (
	"strings"
	"testing"
	"time"

	"gitops-agent/internal/pvesim"
	"gitops-agent/reconcile/journal"
	"gitops-agent/reconcile/reason"
	"gitops-agent/verify"
)

// wandaMay lets alice change everything, and wanda the objects that guests names and guests with some vmids.
func (l *lab) wandaMay(vmids []string, guests ...string) {
	l.trustSigners(
		verify.Signer{Name: "alice", Issuer: alice.Issuer, Subject: alice.Subject, May: []verify.Role{verify.RoleChange}},
		verify.Signer{Name: "wanda", Issuer: wanda.Issuer, Subject: wanda.Subject, May: []verify.Role{verify.RoleChange}, Guests: guests, VMIDs: vmids})
}

// ofOneGuest returns the manifest of an object that reaches no guest of others.
func ofOneGuest(manifest string) string {
	return strings.Replace(manifest, "guests: {all: true}", "guests: {vmids: [201]}", 1)
}

// changedByWanda runs an agent whose signer wanda may change other objects only, and one whose signer wanda may change all objects of the kind. The first must refuse her
// newest commit and leave the object as it is, the second carry it out.
func (l *lab) changedByWanda(c objectCase, exists bool) {
	l.Helper()
	others := "VirtualMachine/web-*"
	vmids := []string{"9000", "300"} // of a replication job and a rule of affinity
	l.wandaMay(vmids, others)
	stop := l.start()
	eventually(l, "the refusal", func() bool { return l.engine.Report().Source.Refused != nil })
	time.Sleep(5 * time.Minute)
	if _, now := c.live(l.sim); now == exists {
		l.Errorf("got %s changed out of scope, want the revision refused", c.label)
	}
	stop()
	kind, _, _ := strings.Cut(c.label, "/")
	l.wandaMay(vmids, others, kind+"/*")
	defer l.start()()
	eventually(l, "the change in scope", func() bool { _, now := c.live(l.sim); return now == exists })
}

// TestScopeOfNewObjects makes an object of each kind.
func TestScopeOfNewObjects(t *testing.T) {
	t.Parallel()
	forEachObject(t, func(_ *testing.T, l *lab, c objectCase) {
		object := ofOneGuest(l.files["object.yaml"])
		delete(l.files, "object.yaml")
		l.push("a guest", alice)
		stop := l.start()
		l.converge()
		stop()
		l.files["object.yaml"] = object
		l.push("make it", wanda)
		l.changedByWanda(c, true)
	})
}

// TestScopeOfRemovedObjects removes an object of each kind.
func TestScopeOfRemovedObjects(t *testing.T) {
	t.Parallel()
	forEachObject(t, func(_ *testing.T, l *lab, c objectCase) {
		l.files["object.yaml"] = ofOneGuest(c.manifest("lifecycle: {destroy: allow}"))
		l.push("an object", alice)
		stop := l.start()
		l.converge()
		stop()
		delete(l.files, "object.yaml")
		l.push("remove it", wanda)
		l.changedByWanda(c, false)
	})
}

// TestObjectsReachOnlyGuestsInScope makes objects that reach guests of others, each under a label that its signer may change. Each step is held, until the object reaches only the signer's guests.
func TestObjectsReachOnlyGuestsInScope(t *testing.T) {
	t.Parallel()
	job := func(guests string) string {
		return "apiVersion: proxmox.gitops/v1alpha1\nkind: BackupJob\nmetadata: {name: web-job}\nspec: {schedule: hourly, retention: {keepLast: 1}, guests: " + guests + "}\n"
	}
	rule := func(guests string) string {
		return "apiVersion: proxmox.gitops/v1alpha1\nkind: AffinityRule\nmetadata: {name: web-rule}\nspec: {type: resource, affinity: negative, guests: " + guests + "}\n"
	}
	copies := func(id string) string {
		return "apiVersion: proxmox.gitops/v1alpha1\nkind: Replication\nmetadata: {name: web-copy}\nspec: {id: " + id + ", target: pve2}\n"
	}
	tests := map[string]struct {
		label           string
		outside, inside string
		names           string // part of the message
		exists          func(sim *pvesim.Sim) bool
	}{
		"all":          {"BackupJob/web-job", job("{all: true}"), job("{vmids: [201]}"), "every guest", hasJob},
		"all_but_some": {"BackupJob/web-job", job("{all: true, except: [202]}"), job("{vmids: [201]}"), "every guest", hasJob},
		"vmids":        {"BackupJob/web-job", job("{vmids: [201, 202]}"), job("{vmids: [201]}"), "vmid 202, which belongs to VirtualMachine/db-1", hasJob},
		"foreign":      {"BackupJob/web-job", job("{vmids: [300]}"), job("{vmids: [201]}"), "vmid 300, which the source did not create", hasJob},
		"later":        {"BackupJob/web-job", job("{vmids: [555]}"), job("{vmids: [201]}"), "vmid 555", hasJob},
		"labels":       {"BackupJob/web-job", job("{labels: {tier: db}}"), job("{labels: {tier: web}}"), "vmid 202", hasJob},
		"pool":         {"BackupJob/web-job", job("{pool: prod}"), job("{vmids: [201]}"), "Pool/prod", hasJob},
		"pool_of_web":  {"BackupJob/web-job", job("{pool: web-pool}"), job("{vmids: [201]}"), "vmid 300", hasJob},
		"disabled":     {"BackupJob/web-job", strings.Replace(job("{vmids: [202]}"), "spec: {", "spec: {enabled: false, ", 1), job("{vmids: [201]}"), "vmid 202", hasJob},
		"affinity":     {"AffinityRule/web-rule", rule("[VirtualMachine/web-1, VirtualMachine/db-1]"), rule("[VirtualMachine/web-1, VirtualMachine/web-2]"), "vmid 202", func(sim *pvesim.Sim) bool { return sim.HARule("web-rule") != nil }},
		"replication": {"Replication/web-copy", copies("202-0"), copies("201-0"), "vmid 202", func(sim *pvesim.Sim) bool {
			return sim.Replication("202-0")["target"]+sim.Replication("201-0")["target"] != ""
		}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			runLabOn(t, pvesim.Options{Nodes: []string{"pve1", "pve2"}}, func(t *testing.T, l *lab) {
				l.grant("Sys.Modify", "Datastore.Allocate", "VM.Backup", "VM.Replicate", "Sys.Console", "Pool.Allocate", "VM.Allocate")
				if _, err := l.sim.AddVM(pvesim.Guest{VMID: 300}); err != nil {
					t.Fatal(err)
				}
				l.sim.AddPool("prod", "")
				l.sim.AddPool("web-pool", "", 300)
				l.wandaMay(nil, "VirtualMachine/web-*", "BackupJob/web-*", "AffinityRule/web-*", "Replication/web-*", "Pool/web-*")
				ha := "ha: {state: started}"
				l.files["web-1.yaml"] = strings.Replace(vmYAML("web-1", 201, ha), "{name: web-1}", "{name: web-1, labels: {tier: web}}", 1)
				l.files["web-2.yaml"] = vmYAML("web-2", 203, ha)
				l.files["db-1.yaml"] = strings.Replace(vmYAML("db-1", 202, ha), "{name: db-1}", "{name: db-1, labels: {tier: db}}", 1)
				l.push("guests", alice)
				defer l.start()()
				l.converge()
				l.files["object.yaml"] = test.outside
				l.push("reach others", wanda)
				eventually(t, "the hold", func() bool {
					held := l.object(test.label).Held
					return len(held) > 0 && held[0].Reason == reason.Scope && strings.Contains(held[0].Message, test.names)
				})
				time.Sleep(5 * time.Minute)
				if test.exists(l.sim) {
					t.Error("got the object made, want it held")
				}
				l.files["object.yaml"] = test.inside
				l.push("reach own guests", wanda)
				eventually(t, "the object", func() bool { return test.exists(l.sim) })
			})
		})
	}
}

func hasJob(sim *pvesim.Sim) bool { return sim.BackupJob("web-job") != nil }

// TestRemovalOfAnObjectThatReachesOthers removes a job over all guests, which its manifest lets the agent remove without an approval, by a signer who may change the job's label.
func TestRemovalOfAnObjectThatReachesOthers(t *testing.T) {
	runLab(t, nil, func(t *testing.T, l *lab) {
		l.grant("Sys.Modify", "Datastore.Allocate")
		l.wandaMay(nil, "VirtualMachine/web-*", "BackupJob/web-*")
		l.files["web-1.yaml"] = vmYAML("web-1", 201)
		job := "apiVersion: proxmox.gitops/v1alpha1\nkind: BackupJob\nmetadata: {name: web-job}\nspec: {schedule: hourly, guests: {all: true}, lifecycle: {destroy: allow}}\n"
		l.files["object.yaml"] = job
		l.push("a job of all guests", alice)
		defer l.start()()
		l.converge()
		delete(l.files, "object.yaml")
		l.push("remove it", wanda)
		isHeld := func() bool {
			held := l.object("BackupJob/web-job").Held
			return len(held) > 0 && held[0].Reason == reason.Scope
		}
		eventually(t, "the hold", isHeld)
		time.Sleep(5 * time.Minute)
		if !hasJob(l.sim) {
			t.Fatal("got the job removed, want it held")
		}
		l.files["object.yaml"] = job
		l.push("describe it again", alice)
		l.converge()
		delete(l.files, "object.yaml")
		l.push("remove it", alice)
		eventually(t, "the removal", func() bool { return !hasJob(l.sim) })
		eventually(t, "the end of the record", func() bool {
			return len(l.journal.State().Introduced[journal.Label{Kind: "BackupJob", Name: "web-job"}].By) == 0
		})
	})
}
